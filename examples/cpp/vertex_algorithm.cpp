// An algorithm for frameworks that run one event on each of many threads, such as Gaudi and ACTS: one finder for all
// threads, hits of the framework as they lie, vertices with covariances, and seeds of their tracks.
//
//   c++ -std=c++17 -pthread vertex_algorithm.cpp $(pkg-config --cflags --libs zfinder)
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <thread>
#include <vector>

#include "zfinder.hpp"

// A hit of the framework.
struct Hit {
  std::uint64_t module;  // the identifier of ACTS: volume and layer in its bits
  float x, y, z;         // mm
  std::uint8_t layer;    // filled by the algorithm
};

// A vertex as a framework wants it, for example in an Acts::Vertex.
struct Vertex {
  std::array<double, 3> position;    // mm
  std::array<double, 6> covariance;  // xx, xy, xz, yy, yz, zz, mm^2
};

// A seed: places of its hits in the event, from the beam outwards, and its vertex or -1.
struct Seed {
  std::vector<std::uint32_t> hits;
  int vertex;
};

class VertexAlgorithm {
 public:
  // The initialisation of the framework calls it once. Building a finder takes longer than an event.
  explicit VertexAlgorithm(const char* detector) : finder_(options(detector)) {}

  // Any thread, and all threads at once.
  void execute(std::vector<Hit>& hits, std::vector<Vertex>& vertices, std::vector<Seed>& seeds) const {
    thread_local std::vector<std::uint64_t> modules;
    thread_local zf::Results results;  // its memory serves the next event of this thread
    modules.clear();
    for (const Hit& hit : hits) {
      modules.push_back(hit.module);
    }
    const std::vector<std::uint8_t> layers = finder_.layer_of_geometry(modules);
    for (std::size_t i = 0; i < hits.size(); i++) {
      hits[i].layer = layers[i];
    }
    finder_.find(zf::batch(hits.data(), hits.size(), zf::Frame::Cartesian, &Hit::x, &Hit::y, &Hit::z, &Hit::layer),
                 results);
    vertices.clear();
    for (std::size_t i = 0; i < results.vertices(); i++) {
      const zf_position found = finder_.position(results, i);
      Vertex vertex;
      std::copy(std::begin(found.xyz_mm), std::end(found.xyz_mm), vertex.position.begin());
      std::copy(std::begin(found.covariance_mm2), std::end(found.covariance_mm2), vertex.covariance.begin());
      vertices.push_back(vertex);
    }
    seeds.clear();
    for (const zf_tracklet& tracklet : results.tracklets()) {
      seeds.push_back({{tracklet.hits, tracklet.hits + tracklet.hit_count}, tracklet.vertex});
    }
  }

 private:
  static zf::Options options(const char* detector) {
    zf::Options options;
    options.config = "preset = \"all-vertices\"\ntracklets = \"all\"";
    options.detector = detector;
    options.threads = 1;  // a search stays on its thread
    return options;
  }

  zf::Finder finder_;
};

// An event with two vertices, from which straight tracks cross the pixels of ACTS's generic detector.
static std::vector<Hit> event(double first_z, double second_z) {
  const double radii[] = {32.0, 72.0, 116.0, 172.0};
  std::vector<Hit> hits;
  for (int track = 0; track < 16; track++) {
    const double phi = 0.39 * track, slope = 0.1 * (track - 8), z = track % 2 ? first_z : second_z;
    for (std::uint64_t layer = 0; layer < 4; layer++) {
      const double rho = radii[layer];
      hits.push_back({std::uint64_t{8} << 56 | (2 * layer + 2) << 36, static_cast<float>(rho * std::cos(phi)),
                      static_cast<float>(rho * std::sin(phi)), static_cast<float>(z + slope * rho), 0});
    }
  }
  return hits;
}

int main() {
  try {
    const VertexAlgorithm algorithm("generic");
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 16; thread++) {
      threads.emplace_back([&, thread] {
        std::vector<Vertex> vertices;
        std::vector<Seed> seeds;
        for (int number = 0; number < 8; number++) {
          const double z = 2.0 * thread + 0.25 * number;
          std::vector<Hit> hits = event(z, z - 40.0);
          algorithm.execute(hits, vertices, seeds);
          int near_truth = 0;
          for (const Vertex& vertex : vertices) {
            const double miss = std::min(std::abs(vertex.position[2] - z), std::abs(vertex.position[2] - z + 40.0));
            near_truth += miss < 0.1 && vertex.covariance[5] > 0.0;
          }
          wrong += vertices.size() != 2 || near_truth != 2 || seeds.size() != 16 || seeds[0].hits.size() != 4;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    std::printf("128 events on 16 threads, %d of them wrong\n", wrong.load());
    return wrong != 0;
  } catch (const zf::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

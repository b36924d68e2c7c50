// Finds vertices through the C++ interface: `cpp_test CONFIG ENGINE SPACEPOINTS [ROIS]` prints them as the command does.
// The answers of a batch, of a stream, of submissions, and of one call for each RoI on OpenMP threads must be equal.
#include "zfinder.hpp"

#include <cmath>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "table.h"

static void require(bool is_true, const char* what) {
  if (!is_true) {
    throw std::runtime_error(what);
  }
}

static zf_batch roi_batch(std::size_t index) {
  const std::size_t first = input.offsets[index], count = input.offsets[index + 1] - first;
  return zf::batch(zf::Frame::Cartesian, input.x + first, input.y + first, input.z + first, input.layer + first, count,
                   nullptr, 1, input.roi + index);
}

// Compares the bits of a column's elements from `first` with another column: NaN equals NaN.
template <class T>
static bool equal(zf::Column<T> all, std::size_t first, zf::Column<T> part) {
  return part.empty() ||
         (first + part.size() <= all.size() && std::memcmp(&all[first], part.data(), part.size() * sizeof(T)) == 0);
}

// Returns whether `part` has the tracklets of `all` from the RoI `roi`.
static bool has_tracklets(const zf::Results& all, std::size_t roi, const zf::Results& part) {
  const std::size_t first = all.tracklet_offsets()[roi];
  for (std::size_t i = 0; i <= part.rois(); i++) {
    if (part.tracklet_offsets()[i] != all.tracklet_offsets()[roi + i] - first) {
      return false;
    }
  }
  return equal(all.tracklets(), first, part.tracklets());
}

// Returns whether `part` has the answers of `all` from the RoI `roi`.
static bool is_part(const zf::Results& all, std::size_t roi, const zf::Results& part) {
  const std::size_t first = all.offsets()[roi];
  for (std::size_t i = 0; i <= part.rois(); i++) {
    if (part.offsets()[i] != all.offsets()[roi + i] - first) {
      return false;
    }
  }
  return equal(all.event_id(), roi, part.event_id()) && equal(all.roi_id(), roi, part.roi_id()) &&
         equal(all.status(), roi, part.status()) && equal(all.fallback(), roi, part.fallback()) &&
         equal(all.spacepoints(), roi, part.spacepoints()) &&
         equal(all.outside_window(), roi, part.outside_window()) && equal(all.z_mm(), first, part.z_mm()) &&
         equal(all.z_error_mm(), first, part.z_error_mm()) && equal(all.weight(), first, part.weight()) &&
         equal(all.rank(), first, part.rank()) && equal(all.significance(), first, part.significance()) &&
         equal(all.background(), first, part.background()) && equal(all.pairs(), first, part.pairs()) &&
         equal(all.x_mm(), first, part.x_mm()) && equal(all.y_mm(), first, part.y_mm()) &&
         equal(all.covariance_mm2(), 6 * first, part.covariance_mm2()) &&
         equal(all.tracklet_count(), first, part.tracklet_count()) &&
         equal(all.sum_pt2_gev2(), first, part.sum_pt2_gev2()) && has_tracklets(all, roi, part);
}

// Returns whether `one` is the answer to the RoI `roi` of `all`.
static bool is_roi(const zf::Results& all, std::size_t roi, const zf::Results& one) {
  return one.rois() == 1 && is_part(all, roi, one);
}

static void run(const zf::Options& options, const char* spacepoints, const char* rois) {
  read_table(spacepoints, rois);
  zf::Finder built(options);
  const zf::Finder finder(std::move(built));
  require(!finder.description().empty(), "a finder describes itself");
  const zf::Results all = finder.find(table_batch());
  print_results(&all.columns());

  zf::Stream stream(finder, 3);
  zf::Results one;
  std::size_t popped = 0;
  for (std::size_t i = 0; i < input.rois; i++) {
    while (!stream.push(roi_batch(i))) {
      require(stream.pop(one) && is_roi(all, popped++, one), "the stream has the answers of the batch");
    }
  }
  while (stream.pop(one)) {
    require(is_roi(all, popped++, one), "the stream has the answers of the batch");
  }
  require(popped == input.rois, "the stream answers all batches");

  std::vector<std::promise<zf_code>> answered(input.rois);
  std::vector<zf::Results> submitted(input.rois);
  for (std::size_t i = 0; i < input.rois; i++) {
    finder.submit(roi_batch(i), submitted[i], [&answered, i](zf_code code) { answered[i].set_value(code); });
  }
  for (std::size_t i = 0; i < input.rois; i++) {
    require(answered[i].get_future().get() == ZF_OK && is_roi(all, i, submitted[i]),
            "submissions have the answers of the batch");
  }

  zf::Options serial = options;
  serial.threads = 1;
  const zf::Finder task_finder(serial);
  int wrong = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : wrong)
#endif
  for (int i = 0; i < static_cast<int>(input.rois); i++) {
    wrong += !is_roi(all, static_cast<std::size_t>(i), task_finder.find(roi_batch(static_cast<std::size_t>(i))));
  }
  require(wrong == 0, "tasks have the answers of the batch");

  // Borrowed columns rho, phi, z of float with layers of one byte, and their copy in a stream.
  std::vector<float> rho, phi, z;
  std::vector<std::uint8_t> layer;
  for (std::size_t i = 0; i < input.spacepoints; i++) {
    rho.push_back(static_cast<float>(std::hypot(input.x[i], input.y[i])));
    phi.push_back(static_cast<float>(std::atan2(input.y[i], input.x[i])));
    z.push_back(static_cast<float>(input.z[i]));
    layer.push_back(static_cast<std::uint8_t>(input.layer[i]));
  }
  const auto single = zf::batch(zf::Frame::Cylindrical, rho.data(), phi.data(), z.data(), layer.data(), rho.size(),
                                input.offsets, input.rois, input.roi);
  const zf::Results borrowed = finder.find(single);
  require(stream.push(single) && stream.pop(one), "a stream takes a batch of float");
  require(one.rois() == input.rois && is_part(borrowed, 0, one), "the stream has the answers of borrowed columns");

  zf::Results moved(std::move(one));
  require(moved.rois() == input.rois && is_part(borrowed, 0, moved), "columns move with their results");
  try {
    finder.find(zf::batch<double, std::uint32_t>(zf::Frame::Cartesian, nullptr, nullptr, nullptr, nullptr, 1), moved);
    require(false, "an exception");
  } catch (const zf::Error& error) {
    require(error.code() == ZF_NULL && moved.rois() == 0 && moved.z_mm().empty(), "no RoI after a failure");
  }
  try {
    zf::Options wrong_options;
    wrong_options.config = "no-such-preset";
    zf::Finder wrong_finder(wrong_options);
    require(false, "an exception");
  } catch (const zf::Error& error) {
    require(error.code() == ZF_CONFIG && std::strstr(error.what(), "no-such-preset"), "code and text");
  }
}

int main(int count, char** words) {
  if (count < 4) {
    std::fputs("usage: cpp_test CONFIG ENGINE SPACEPOINTS [ROIS]\n", stderr);
    return 2;
  }
  try {
    zf::Options options;
    options.config = words[1];
    options.detector = "generic";
    options.engine = words[2];
    run(options, words[3], count > 4 ? words[4] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpp_test: %s\n", error.what());
    return 1;
  }
}

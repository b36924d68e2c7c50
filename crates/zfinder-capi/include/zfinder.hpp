// The C++17 interface of zfinder: a header over zfinder.h. See docs/how-to/call-from-cpp.md.
#ifndef ZFINDER_HPP
#define ZFINDER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "zfinder.h"

namespace zf {

// Failure of a call: a code and its text.
class Error : public std::runtime_error {
 public:
  Error(zf_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  zf_code code() const noexcept { return code_; }

 private:
  zf_code code_;
};

namespace detail {

inline void check(zf_code code) {
  if (code != ZF_OK) {
    throw Error(code, zf_last_error());
  }
}

// Calls a function that writes text to a buffer.
template <class Write>
std::string text(Write write) {
  std::size_t wanted = 0;
  check(write(nullptr, 0, &wanted));
  for (;;) {
    std::string buffer(wanted, '\0');
    const zf_code code = write(buffer.data(), buffer.size(), &wanted);
    if (code == ZF_NO_ROOM) {
      continue;  // The text has grown.
    }
    check(code);
    buffer.resize(wanted - 1);
    return buffer;
  }
}

}  // namespace detail

enum class Frame { Cylindrical, Cartesian };

// Makes a batch of columns, which must outlive it. Number is float or double, Layer is std::uint8_t or
// std::uint32_t. RoI i has the spacepoints from offsets[i] up to offsets[i + 1]; without offsets there is one RoI.
template <class Number, class Layer>
zf_batch batch(Frame frame, const Number* rho_or_x, const Number* phi_or_y, const Number* z, const Layer* layer,
               std::size_t spacepoints, const std::uint64_t* offsets = nullptr, std::size_t rois = 1,
               const zf_roi* roi = nullptr) noexcept {
  static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, double>, "float or double");
  static_assert(std::is_same_v<Layer, std::uint8_t> || std::is_same_v<Layer, std::uint32_t>, "uint8_t or uint32_t");
  zf_batch batch = zf_batch_init();
  batch.flags = (frame == Frame::Cartesian ? ZF_CARTESIAN : 0u) | (std::is_same_v<Number, float> ? ZF_FLOAT : 0u) |
                (std::is_same_v<Layer, std::uint8_t> ? ZF_LAYER_U8 : 0u);
  batch.rho_or_x = rho_or_x;
  batch.phi_or_y = phi_or_y;
  batch.z = z;
  batch.layer = layer;
  batch.spacepoints = spacepoints;
  batch.rois = rois;
  batch.offsets = offsets;
  batch.roi = roi;
  return batch;
}

// Results of the RoIs of a batch, and their vertices.
struct Answers {
  std::vector<zf_result> results;
  std::vector<zf_vertex> vertices;
};

namespace detail {

// Calls a function that writes answers, with larger buffers where they are too small.
template <class Write>
zf_code answers(Answers& answers, Write write) {
  for (;;) {
    zf_answers buffers = zf_answers_init();
    buffers.result_buffer = answers.results.data();
    buffers.result_room = answers.results.size();
    buffers.vertex_buffer = answers.vertices.data();
    buffers.vertex_room = answers.vertices.size();
    const zf_code code = write(&buffers);
    if (code == ZF_OK || code == ZF_NO_ROOM) {
      answers.results.resize(buffers.results);
      answers.vertices.resize(buffers.vertices);
    }
    if (code != ZF_NO_ROOM) {
      return code;
    }
  }
}

}  // namespace detail

// Options of a finder. Texts without a value keep their default; see zf_options.
struct Options {
  std::optional<std::string> config;
  std::optional<std::string> detector;
  std::optional<std::string> engine;
  std::optional<std::string> adapter;
  std::size_t threads = 0;
};

// A finder. All functions may be called by many threads at once, except moves and the destructor.
class Finder {
 public:
  explicit Finder(const Options& options = Options()) {
    if (zf_abi_version() != ZF_ABI_VERSION) {
      throw Error(ZF_ARGUMENT, "the library is not of the version of zfinder.h");
    }
    const auto text = [](const std::optional<std::string>& text) { return text ? text->c_str() : nullptr; };
    zf_options c = zf_options_init();
    c.config = text(options.config);
    c.detector = text(options.detector);
    c.engine = text(options.engine);
    c.adapter = text(options.adapter);
    c.threads = options.threads;
    detail::check(zf_create(&c, &handle_));
    const zf_code code = zf_most_vertices(handle_, &most_vertices_);
    if (code != ZF_OK) {
      zf_destroy(handle_);
      detail::check(code);
    }
  }
  Finder(Finder&& other) noexcept
      : handle_(std::exchange(other.handle_, zf_finder{0})), most_vertices_(other.most_vertices_) {}
  Finder& operator=(Finder&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(most_vertices_, other.most_vertices_);
    return *this;
  }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;
  ~Finder() {
    if (handle_.id != 0) {
      zf_destroy(handle_);
    }
  }

  // Finds the vertices of a batch. The memory of `answers` is used again.
  void find(const zf_batch& batch, Answers& answers) const {
    answers.results.resize(batch.rois);
    answers.vertices.resize(batch.rois * most_vertices_);
    detail::check(
        detail::answers(answers, [&](zf_answers* buffers) { return zf_find(handle_, &batch, buffers); }));
  }
  Answers find(const zf_batch& batch) const {
    Answers answers;
    find(batch, answers);
    return answers;
  }

  // Returns which engine runs, and on which adapters.
  std::string description() const {
    return detail::text([&](char* buffer, std::size_t room, std::size_t* wanted) {
      return zf_describe(handle_, buffer, room, wanted);
    });
  }
  // Returns a warning about units and layers of the first spacepoints that were searched, or an
  // empty text.
  std::string input_warning() const {
    return detail::text([&](char* buffer, std::size_t room, std::size_t* wanted) {
      return zf_input_warning(handle_, buffer, room, wanted);
    });
  }
  // Returns the largest number of vertices of an RoI.
  std::size_t most_vertices() const noexcept { return most_vertices_; }
  zf_finder handle() const noexcept { return handle_; }

 private:
  zf_finder handle_{0};
  std::size_t most_vertices_ = 0;
};

// Batches in flight. One thread may push while another thread pops.
class Stream {
 public:
  // `in_flight` 0 is twice the number of cores.
  explicit Stream(const Finder& finder, std::size_t in_flight = 0) {
    detail::check(zf_stream_create(finder.handle(), in_flight, &handle_));
  }
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, zf_stream{0})) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (handle_.id != 0) {
      zf_stream_destroy(handle_);
    }
  }

  // Copies a batch and sends it on its way. Returns false if the stream is full.
  bool push(const zf_batch& batch) {
    const zf_code code = zf_stream_push(handle_, &batch);
    if (code != ZF_FULL) {
      detail::check(code);
    }
    return code == ZF_OK;
  }
  // Waits for the answers to the oldest batch. Returns false if no batch is in flight.
  bool pop(Answers& answers) {
    const zf_code code =
        detail::answers(answers, [&](zf_answers* buffers) { return zf_stream_pop(handle_, buffers); });
    if (code != ZF_EMPTY) {
      detail::check(code);
    }
    return code == ZF_OK;
  }

 private:
  zf_stream handle_{0};
};

// Returns a line of text for each adapter of this machine.
inline std::string adapters() { return detail::text(zf_adapters); }

/// A line for each key of a configuration: name, values with their unit, and meaning, with tabs between.
inline std::string keys() { return detail::text(zf_keys); }

}  // namespace zf

#endif  // ZFINDER_HPP

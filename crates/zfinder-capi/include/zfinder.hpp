// The C++17 interface of zfinder: a header over zfinder.h. See docs/how-to/call-from-cpp.md.
#ifndef ZFINDER_HPP
#define ZFINDER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
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

// Owns a handle of the library.
template <class T, zf_code (*destroy)(T)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : value(std::exchange(other.value, T{0})) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~Handle() {
    if (value.id != 0) {
      destroy(value);
    }
  }

  T value{0};
};

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

// Makes a batch of structures, such as the hits of a framework: `count` of them from `first` on, with pointers to their
// members. docs/how-to/call-from-cpp.md has an example.
template <class Element, class Number, class Layer>
zf_batch batch(const Element* first, std::size_t count, Frame frame, const Number Element::*rho_or_x,
               const Number Element::*phi_or_y, const Number Element::*z, const Layer Element::*layer) noexcept {
  zf_batch batch = zf_batch_init();
  if (count > 0) {
    batch = zf::batch(frame, &(first->*rho_or_x), &(first->*phi_or_y), &(first->*z), &(first->*layer), count);
  }
  batch.rois = 1;
  batch.coordinate_stride = batch.layer_stride = sizeof(Element);
  return batch;
}

// A column: a view of memory of the library.
template <class T>
class Column {
 public:
  Column(const T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  const T* data_;
  std::size_t size_;
};

// Answers to the RoIs of a batch, as columns; see zf_columns for their meaning. A search reuses the
// memory of earlier answers. After a failed search there is no RoI. Columns are valid until the
// next search into the same results, a move of the results, or their destruction.
class Results {
 public:
  Results() { detail::check(zf_results_create(&handle_.value)); }

  std::size_t rois() const noexcept { return columns_.rois; }
  std::size_t vertices() const noexcept { return columns_.vertices; }
  // One element an RoI.
  Column<std::uint64_t> event_id() const noexcept { return {columns_.event_id, rois()}; }
  Column<std::uint64_t> roi_id() const noexcept { return {columns_.roi_id, rois()}; }
  Column<std::uint8_t> status() const noexcept { return {columns_.status, rois()}; }
  Column<std::uint64_t> spacepoints() const noexcept { return {columns_.spacepoints, rois()}; }
  Column<std::uint64_t> outside_window() const noexcept { return {columns_.outside_window, rois()}; }
  Column<std::uint8_t> fallback() const noexcept { return {columns_.fallback, rois()}; }
  // RoI i has the vertices from offsets()[i] up to offsets()[i + 1].
  Column<std::size_t> offsets() const noexcept { return {columns_.offsets, columns_.offsets ? rois() + 1 : 0}; }
  // One element a vertex.
  Column<double> z_mm() const noexcept { return {columns_.z_mm, vertices()}; }
  Column<double> z_error_mm() const noexcept { return {columns_.z_error_mm, vertices()}; }
  Column<double> weight() const noexcept { return {columns_.weight, vertices()}; }
  Column<double> rank() const noexcept { return {columns_.rank, vertices()}; }
  Column<double> significance() const noexcept { return {columns_.significance, vertices()}; }
  Column<double> background() const noexcept { return {columns_.background, vertices()}; }
  Column<std::uint64_t> pairs() const noexcept { return {columns_.pairs, vertices()}; }
  Column<double> x_mm() const noexcept { return {columns_.x_mm, vertices()}; }
  Column<double> y_mm() const noexcept { return {columns_.y_mm, vertices()}; }
  // Six elements a vertex: xx, xy, xz, yy, yz, zz.
  Column<double> covariance_mm2() const noexcept { return {columns_.covariance_mm2, 6 * vertices()}; }
  Column<std::uint64_t> tracklet_count() const noexcept { return {columns_.tracklet_count, vertices()}; }
  Column<double> sum_pt2_gev2() const noexcept { return {columns_.sum_pt2_gev2, vertices()}; }
  // RoI i has the tracklets from tracklet_offsets()[i] up to tracklet_offsets()[i + 1].
  Column<std::size_t> tracklet_offsets() const noexcept {
    return {columns_.tracklet_offsets, columns_.tracklet_offsets ? rois() + 1 : 0};
  }
  Column<zf_tracklet> tracklets() const noexcept { return {columns_.tracklet, columns_.tracklets}; }
  const zf_columns& columns() const noexcept { return columns_; }

 private:
  friend class Finder;
  friend class Stream;

  // Calls a function that fills the results, and reads their columns, also after a failure.
  template <class Search>
  zf_code fill(Search search) noexcept {
    const zf_code code = search(handle_.value);
    if (zf_results_columns(handle_.value, &columns_) != ZF_OK) {
      columns_ = zf_columns_init();
    }
    return code;
  }

  detail::Handle<zf_results, zf_results_destroy> handle_;
  zf_columns columns_ = zf_columns_init();
};

// Options of a finder. Texts without a value keep their default; see zf_options.
struct Options {
  std::optional<std::string> config;
  std::optional<std::string> detector;
  std::optional<std::string> engine;
  std::optional<std::string> adapter;
  std::size_t threads = 0;
  std::optional<std::string> precision;
  std::optional<std::string> accumulate;
  std::optional<std::string> encoding;
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
    c.precision = text(options.precision);
    c.accumulate = text(options.accumulate);
    c.encoding = text(options.encoding);
    detail::check(zf_create(&c, &handle_.value));
  }

  // Finds the vertices of a batch, and reuses the memory of `results`.
  void find(const zf_batch& batch, Results& results) const {
    detail::check(results.fill([&](zf_results into) { return zf_find(handle(), &batch, into); }));
  }
  Results find(const zf_batch& batch) const {
    Results results;
    find(batch, results);
    return results;
  }

  // Starts the search of a batch, and calls done(code) when `results` are there: once, on a thread
  // of the library, possibly before this function returns. `done` is copied and must not throw.
  // Until then the columns of the batch stay as they are, and `results` are not used, moved or
  // destroyed. With another code than ZF_OK, zf_last_error() is the text within the call.
  template <class Done>
  void submit(const zf_batch& batch, Results& results, Done done) const {
    struct Pending {
      Results& results;
      Done done;
    };
    auto pending = std::make_unique<Pending>(Pending{results, std::move(done)});
    const zf_callback call = [](zf_code code, void* user) {
      const std::unique_ptr<Pending> pending(static_cast<Pending*>(user));
      pending->results.fill([&](zf_results) { return code; });
      pending->done(code);
    };
    detail::check(zf_submit(handle(), &batch, results.handle_.value, call, pending.get()));
    pending.release();
  }

  // Returns which engine runs, and on which adapters.
  std::string description() const {
    return detail::text([&](char* buffer, std::size_t room, std::size_t* wanted) {
      return zf_describe(handle(), buffer, room, wanted);
    });
  }
  // Returns a warning about units and layers of the first spacepoints that were searched, or an
  // empty text.
  std::string input_warning() const {
    return detail::text([&](char* buffer, std::size_t room, std::size_t* wanted) {
      return zf_input_warning(handle(), buffer, room, wanted);
    });
  }
  // Returns the layer on which each point lies, within tolerance_mm, or 255.
  std::vector<std::uint8_t> layer_at(const std::vector<double>& rho, const std::vector<double>& z,
                                     double tolerance_mm = 10.0) const {
    if (rho.size() != z.size()) {
      throw Error(ZF_ARGUMENT, "rho and z have different lengths");
    }
    std::vector<std::uint8_t> layers(rho.size());
    detail::check(zf_layer_at(handle(), rho.data(), z.data(), rho.size(), tolerance_mm, layers.data()));
    return layers;
  }
  // Returns the layer of each geometry identifier of ACTS, or 255.
  std::vector<std::uint8_t> layer_of_geometry(const std::vector<std::uint64_t>& geometry_id) const {
    std::vector<std::uint8_t> layers(geometry_id.size());
    detail::check(zf_layer_of_geometry(handle(), geometry_id.data(), geometry_id.size(), layers.data()));
    return layers;
  }
  // Returns the position of a vertex, counted over all RoIs, with its covariance; see zf_vertex_position().
  zf_position position(const Results& results, std::size_t vertex) const {
    zf_position position;
    detail::check(zf_vertex_position(handle(), results.handle_.value, vertex, &position));
    return position;
  }
  // Returns the largest number of vertices of an RoI.
  std::size_t most_vertices() const {
    std::size_t vertices = 0;
    detail::check(zf_most_vertices(handle(), &vertices));
    return vertices;
  }
  zf_finder handle() const noexcept { return handle_.value; }

 private:
  detail::Handle<zf_finder, zf_destroy> handle_;
};

// The layers of a framework's modules by their identifiers, found once from the modules' places.
class LayerMap {
 public:
  // Takes the identifier, rho [mm] and z [mm] of the centre of each module. Throws if a module is on no layer.
  LayerMap(const Finder& finder, const std::vector<std::uint64_t>& module, const std::vector<double>& rho,
           const std::vector<double>& z, double tolerance_mm = 10.0) {
    const std::vector<std::uint8_t> layers = finder.layer_at(rho, z, tolerance_mm);
    if (module.size() != layers.size()) {
      throw Error(ZF_ARGUMENT, "modules and places differ in number");
    }
    for (std::size_t i = 0; i < layers.size(); i++) {
      if (layers[i] == no_layer) {
        throw Error(ZF_DETECTOR, "module " + std::to_string(module[i]) + " at rho = " + std::to_string(rho[i]) +
                                     " mm, z = " + std::to_string(z[i]) + " mm is on no layer of the detector");
      }
      layers_.emplace(module[i], layers[i]);
    }
  }
  // Returns the layer of a module, or no_layer.
  std::uint8_t operator()(std::uint64_t module) const {
    const auto found = layers_.find(module);
    return found == layers_.end() ? no_layer : found->second;
  }

  static constexpr std::uint8_t no_layer = 255;

 private:
  std::unordered_map<std::uint64_t, std::uint8_t> layers_;
};

// Batches in flight. One thread may push while another thread pops.
class Stream {
 public:
  // `in_flight` 0 is twice the number of cores.
  explicit Stream(const Finder& finder, std::size_t in_flight = 0) {
    detail::check(zf_stream_create(finder.handle(), in_flight, &handle_.value));
  }

  // Copies a batch and sends it on its way. Returns false if the stream is full.
  bool push(const zf_batch& batch) {
    const zf_code code = zf_stream_push(handle_.value, &batch);
    if (code != ZF_FULL) {
      detail::check(code);
    }
    return code == ZF_OK;
  }
  // Waits for the answers to the oldest batch. Returns false, and no RoI, if no batch is in flight.
  bool pop(Results& results) {
    const zf_code code = results.fill([&](zf_results into) { return zf_stream_pop(handle_.value, into); });
    if (code != ZF_EMPTY) {
      detail::check(code);
    }
    return code == ZF_OK;
  }

 private:
  detail::Handle<zf_stream, zf_stream_destroy> handle_;
};

// Sends the log to a function, up to a level from 1 (error) to 5 (trace); NULL ends it.
inline void log(zf_log_callback callback, void* user, int level) { detail::check(zf_log(callback, user, level)); }

// Returns a line of text for each adapter of this machine.
inline std::string adapters() { return detail::text(zf_adapters); }

// Returns a line for each key of a configuration: name, values with their unit, and meaning, with tabs between.
inline std::string keys() { return detail::text(zf_keys); }

}  // namespace zf

#endif  // ZFINDER_HPP

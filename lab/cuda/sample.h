// The host's side of thesis.cu: CSV files, slices, peaks, and the comparison with other vertices. Plain C++.

#pragma once

constexpr int LAYERS = 19;
constexpr double PI = 3.14159265358979323846;
constexpr double SLICE_DEG = 0.2;
constexpr float Z_MIN = -200.0f, Z_MAX = 200.0f;
constexpr double BIN_MM = 0.4;
constexpr int HALF = 500, BINS = 2 * HALF + 1;
constexpr float BINS_PER_MM = 2.5f, OFFSET = -500.0f;

struct Options {
    std::string spacepoints, rois, answers, output;
    int rounds = 7;
};

struct Vertex {
    double z = 0.0;
    int weight = 0;
};

struct Spacepoint {
    double rho, phi, z;
    int layer;
};

// An RoI as it is in the file.
struct RawRoi {
    uint64_t event = 0, roi = 0;
    double phi_min = -PI, width = 2.0 * PI;
    std::vector<Spacepoint> points;
};

// Spacepoints by layer and slice.
struct SlicedRoi {
    int slices = 0;
    int most_listed = 0; // spacepoints of a slice and its neighbours
    std::vector<int> cells;
    std::vector<float> points; // rho, z

    size_t cell_bytes() const { return sizeof(int) * cells.size(); }
    size_t point_offset() const { return (cell_bytes() + 15) / 16 * 16; }
    size_t point_bytes() const { return sizeof(float) * points.size(); }
    size_t bytes() const { return point_offset() + point_bytes(); }
};

struct Sample {
    std::vector<RawRoi> raw;
    std::vector<SlicedRoi> sliced;
    size_t most_bytes = 16;
    int most_slices = 1, most_listed = 1;

    double mean_points() const {
        double sum = 0.0;
        for (const RawRoi &roi : raw) sum += roi.points.size();
        return sum / raw.size();
    }
    double mean_slices() const {
        double sum = 0.0;
        for (const SlicedRoi &roi : sliced) sum += roi.slices;
        return sum / sliced.size();
    }
};

[[noreturn]] inline void fail(const std::string &message) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::exit(1);
}

inline Options read_options(int argc, char **argv) {
    Options options;
    std::vector<std::string> files;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--answers" && has_value) options.answers = argv[++i];
        else if (word == "--output" && has_value) options.output = argv[++i];
        else if (word == "--rounds" && has_value) options.rounds = std::max(1, std::atoi(argv[++i]));
        else if (word.rfind("--", 0) == 0) fail("unknown option, or no value: " + word);
        else files.push_back(word);
    }
    if (files.size() != 2) fail("usage: thesis SPACEPOINTS.csv ROIS.csv [--answers FILE] [--output FILE] [--rounds N]");
    options.spacepoints = files[0];
    options.rois = files[1];
    return options;
}

// Calls `each` with the fields of the named columns of each row; an absent optional column, marked by '?', is an empty text.
template <typename Each>
void read_csv(const std::string &path, const std::vector<std::string> &columns, Each each) {
    FILE *file = std::fopen(path.c_str(), "r");
    if (!file) fail(path + ": cannot be opened");
    std::vector<char> line(1 << 16);
    std::vector<int> place;
    long row = 0;
    std::vector<std::string> fields, wanted(columns.size());
    while (std::fgets(line.data(), static_cast<int>(line.size()), file)) {
        row++;
        fields.clear();
        std::string text(line.data());
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
        if (text.empty() || text[0] == '#') continue;
        for (size_t begin = 0;;) {
            const size_t end = text.find(',', begin);
            fields.push_back(text.substr(begin, end - begin));
            if (end == std::string::npos) break;
            begin = end + 1;
        }
        if (place.empty()) {
            for (std::string column : columns) {
                const bool optional = column.back() == '?';
                if (optional) column.pop_back();
                const auto at = std::find(fields.begin(), fields.end(), column);
                if (at == fields.end() && !optional) fail(path + ": there is no column " + column);
                place.push_back(at == fields.end() ? -1 : static_cast<int>(at - fields.begin()));
            }
            continue;
        }
        for (size_t i = 0; i < columns.size(); i++) {
            const bool is_there = place[i] >= 0 && place[i] < static_cast<int>(fields.size());
            wanted[i] = is_there ? fields[place[i]] : "";
        }
        each(wanted, row);
    }
    std::fclose(file);
}

inline double number(const std::string &text, const std::string &path, long row) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value)) {
        fail(path + ", row " + std::to_string(row) + ": '" + text + "' is not a number");
    }
    return value;
}

inline SlicedRoi slice(const RawRoi &raw) {
    const double inverse = 180.0 / (PI * SLICE_DEG);
    SlicedRoi roi;
    roi.slices = std::max(1, static_cast<int>(std::ceil(raw.width * inverse - 1e-9)));
    const int cells = LAYERS * roi.slices;
    std::vector<int> cell_of(raw.points.size(), -1);
    roi.cells.assign(cells + 1, 0);
    for (size_t i = 0; i < raw.points.size(); i++) {
        const Spacepoint &point = raw.points[i];
        double phi = point.phi - raw.phi_min;
        if (phi < 0.0) phi += 2.0 * PI;
        if (phi >= 2.0 * PI) phi -= 2.0 * PI;
        if (phi < raw.width) {
            cell_of[i] = point.layer * roi.slices + std::min(static_cast<int>(phi * inverse), roi.slices - 1);
            roi.cells[cell_of[i] + 1]++;
        }
    }
    for (int cell = 0; cell < cells; cell++) roi.cells[cell + 1] += roi.cells[cell];
    roi.points.resize(2 * static_cast<size_t>(roi.cells[cells]));
    std::vector<int> next(roi.cells.begin(), roi.cells.end() - 1);
    for (size_t i = 0; i < raw.points.size(); i++) {
        if (cell_of[i] >= 0) {
            const size_t at = 2 * static_cast<size_t>(next[cell_of[i]]++);
            roi.points[at] = static_cast<float>(raw.points[i].rho);
            roi.points[at + 1] = static_cast<float>(raw.points[i].z);
        }
    }
    for (int s = 0; s < roi.slices; s++) {
        int listed = 0;
        for (int layer = 0; layer < LAYERS; layer++) {
            const int *cell = roi.cells.data() + layer * roi.slices;
            listed += cell[std::min(s + 2, roi.slices)] - cell[std::max(s - 1, 0)];
        }
        roi.most_listed = std::max(roi.most_listed, listed);
    }
    return roi;
}

inline Sample read_sample(const Options &options) {
    Sample sample;
    std::map<std::pair<uint64_t, uint64_t>, size_t> numbers;
    const auto of = [&](const std::string &event, const std::string &roi, const std::string &path, long row) -> RawRoi & {
        const auto id = std::make_pair(static_cast<uint64_t>(number(event, path, row)),
                                       roi.empty() ? uint64_t{0} : static_cast<uint64_t>(number(roi, path, row)));
        const auto [at, is_new] = numbers.emplace(id, sample.raw.size());
        if (is_new) {
            sample.raw.emplace_back();
            sample.raw.back().event = id.first;
            sample.raw.back().roi = id.second;
        }
        return sample.raw[at->second];
    };
    read_csv(options.rois, {"event_id", "roi_id", "phi_min", "phi_max", "eta?"}, [&](const auto &fields, long row) {
        RawRoi &roi = of(fields[0], fields[1], options.rois, row);
        const double low = number(fields[2], options.rois, row), high = number(fields[3], options.rois, row);
        if (!fields[4].empty() && number(fields[4], options.rois, row) != 0.0) {
            fail(options.rois + ": an eta other than 0 widens bins, which this program does not");
        }
        roi.width = high < low ? high - low + 2.0 * PI : std::min(high - low, 2.0 * PI);
        roi.phi_min = std::abs(low) <= PI ? low : std::remainder(low, 2.0 * PI);
    });
    const auto point = [&](const auto &fields, long row) {
        const std::string &path = options.spacepoints;
        const double layer = number(fields[5], path, row), rho = number(fields[2], path, row);
        if (!(layer >= 0 && layer < LAYERS) || !(rho > 0)) {
            fail(path + ", row " + std::to_string(row) + ": a layer from 0 to 18 and rho above 0 are wanted");
        }
        double phi = number(fields[3], path, row);
        if (std::abs(phi) > PI) phi = std::remainder(phi, 2.0 * PI);
        of(fields[0], fields[1], path, row).points.push_back({rho, phi, number(fields[4], path, row),
                                                              static_cast<int>(layer)});
    };
    read_csv(options.spacepoints, {"event_id", "roi_id", "rho", "phi", "z", "layer"}, point);
    if (sample.raw.empty()) fail("there is no RoI in " + options.rois);
    for (const RawRoi &raw : sample.raw) {
        sample.sliced.push_back(slice(raw));
        const SlicedRoi &roi = sample.sliced.back();
        sample.most_bytes = std::max(sample.most_bytes, roi.bytes());
        sample.most_slices = std::max(sample.most_slices, roi.slices);
        sample.most_listed = std::max(sample.most_listed, roi.most_listed);
    }
    return sample;
}

// The highest three bins, of equal ones the nearest to the middle; no vertex below two entries.
inline Vertex highest(const int *n, const float *z) {
    int best = -1, most = 1;
    for (int left = 0; left + 2 < BINS; left++) {
        const int sum = n[left] + n[left + 1] + n[left + 2];
        const bool is_nearer = best >= 0 && std::abs(left + 1 - HALF) < std::abs(best + 1 - HALF);
        if (sum > most || (sum == most && is_nearer)) {
            best = left;
            most = sum;
        }
    }
    if (best < 0) return {};
    const double sum = static_cast<double>(z[best]) + z[best + 1] + z[best + 2];
    return {sum / most, most};
}

// Whether two vertices are the same within rounding: two entries may have changed their bin.
inline bool same(const Vertex &one, const Vertex &other) {
    const int changed = std::abs(one.weight - other.weight);
    const int weight = std::max({one.weight, other.weight, 1});
    return changed <= 2 && std::abs(one.z - other.z) <= 0.01 + 1.5 * BIN_MM * changed / weight;
}

// Compares the vertices with those of zfinder, and those of two passes with each other. Returns the exit code.
inline int compare(const Sample &sample, const Options &options, const std::vector<Vertex> &found,
                   const std::vector<Vertex> &again) {
    size_t unstable = 0;
    for (size_t i = 0; i < found.size(); i++) unstable += !same(found[i], again[i]);
    if (!options.output.empty()) {
        FILE *file = std::fopen(options.output.c_str(), "w");
        if (!file) fail(options.output + ": cannot be written");
        std::fprintf(file, "event_id,roi_id,z_mm,weight\n");
        for (size_t i = 0; i < found.size(); i++) {
            const RawRoi &roi = sample.raw[i];
            std::fprintf(file, "%llu,%llu,%.6f,%d\n", static_cast<unsigned long long>(roi.event),
                         static_cast<unsigned long long>(roi.roi), found[i].z, found[i].weight);
        }
        if (std::fclose(file) != 0) fail(options.output + ": cannot be written");
    }
    size_t compared = 0, ties = 0, wrong = 0;
    if (!options.answers.empty()) {
        std::map<std::pair<uint64_t, uint64_t>, Vertex> expected;
        const auto each = [&](const auto &fields, long row) {
            const std::string &path = options.answers;
            if (!fields[2].empty() && number(fields[2], path, row) != 0) return;
            Vertex vertex;
            if (!fields[4].empty()) {
                vertex.z = number(fields[3], path, row);
                vertex.weight = static_cast<int>(number(fields[4], path, row));
            }
            expected[{static_cast<uint64_t>(number(fields[0], path, row)),
                      static_cast<uint64_t>(number(fields[1], path, row))}] = vertex;
        };
        read_csv(options.answers, {"event_id", "roi_id", "vertex", "z_mm", "weight"}, each);
        for (size_t i = 0; i < found.size(); i++) {
            const auto at = expected.find({sample.raw[i].event, sample.raw[i].roi});
            if (at == expected.end()) continue;
            compared++;
            if (same(found[i], at->second)) continue;
            // Of two peaks of the same height, rounding decides.
            const bool is_tie = std::abs(found[i].weight - at->second.weight) <= 2;
            (is_tie ? ties : wrong)++;
            if (!is_tie) {
                std::fprintf(stderr, "event %llu: z %.4f mm of weight %d; zfinder: z %.4f mm of weight %d\n",
                             static_cast<unsigned long long>(sample.raw[i].event), found[i].z, found[i].weight,
                             at->second.z, at->second.weight);
            }
        }
        if (compared == 0) fail(options.answers + ": it has none of the RoIs");
    }
    std::printf("answers: %zu of %zu compared with zfinder's, %zu wrong, %zu ties; %zu other in a second pass\n", compared,
                found.size(), wrong, ties, unstable);
    // A tie is rare, and more of them are a fault.
    const bool is_wrong = wrong > 0 || 20 * ties > compared + 20 || 20 * unstable > found.size() + 20;
    return is_wrong ? 4 : 0;
}

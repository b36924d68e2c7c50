// The GPU design of C. Jones's thesis (Edinburgh 2010) as a CUDA program, RoI by RoI: the baseline
// of docs/thesis.md. Pairs, single neighbours, all layers as inner layers, bins of 0.4 mm over
// +-200 mm: `zfinder find --preset thesis`.
//
//   findZ a block a phi slice; nHisto and zHisto in shared memory; pairs numbered across layers;
//   f32 sums by compare
//               and retry
//   sumHistos   2D grid: x over groups of slices, y over blocks of bins; two stages
//   streams     one buffer and one copy each way for an RoI; several RoIs in flight
//
// usage: thesis SPACEPOINTS.csv ROIS.csv [--answers VERTICES.csv] [--output FILE.csv] [--rounds N]
// It reads what `zfinder simulate -o SPACEPOINTS.csv --rois-file ROIS.csv` writes, and compares its
// vertices with those that `zfinder find --preset thesis -o VERTICES.csv` wrote. Exit code: 0 done,
// 1 bad input, 3 CUDA failed, 4 wrong answers.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sample.h"

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "error: CUDA: %s: %s\n", what, cudaGetErrorString(error));
        std::exit(3);
    }
}

constexpr int FIND_THREADS = 128;
constexpr int SUM_THREADS = 128;
// A row of histograms begins at a multiple of 128 bytes, for loads to coalesce.
constexpr int ROW = (BINS + 31) / 32 * 32;

// The input of a block of findZ, in one buffer: cells, then points.
struct DeviceRoi {
    const int *cells;
    const float2 *points;
    int slices;
};

__device__ void add_real(float *to, float value) {
    int *bits = reinterpret_cast<int *>(to);
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(__int_as_float(assumed) + value));
    } while (assumed != old);
}

// grid: a block a slice. Dynamic shared memory: nHisto, zHisto, and a list of the spacepoints of
//       three slices by layer.
__global__ void findZ(DeviceRoi roi, int *n_rows, float *z_rows) {
    extern __shared__ int shared[];
    int *n_histo = shared;
    float *z_histo = reinterpret_cast<float *>(shared + ROW);
    int *list = shared + 2 * ROW;
    __shared__ int first[LAYERS + 1];
    const int slice = blockIdx.x, thread = threadIdx.x;
    const int low = max(slice - 1, 0), high = min(slice + 2, roi.slices);
    for (int bin = thread; bin < ROW; bin += FIND_THREADS) {
        n_histo[bin] = 0;
        z_histo[bin] = 0.0f;
    }
    // Exclusive scan over layers.
    if (thread <= LAYERS) {
        int sum = 0;
        for (int layer = 0; layer < thread; layer++) {
            sum += roi.cells[layer * roi.slices + high] - roi.cells[layer * roi.slices + low];
        }
        first[thread] = sum;
    }
    __syncthreads();
    for (int layer = 0; layer < LAYERS; layer++) {
        const int begin = roi.cells[layer * roi.slices + low];
        for (int i = thread; i < first[layer + 1] - first[layer]; i += FIND_THREADS) {
            list[first[layer] + i] = begin + i;
        }
    }
    __syncthreads();

    // Numbers of a thread's pairs only grow: a subtraction recovers the pair, and no division.
    int pair = thread;
    for (int layer = 0; layer + 1 < LAYERS; layer++) {
        const int partners = first[LAYERS] - first[layer + 1];
        if (partners == 0) {
            break;
        }
        const int end = roi.cells[layer * roi.slices + slice + 1];
        for (int at = roi.cells[layer * roi.slices + slice]; at < end; at++) {
            const float2 a = roi.points[at];
            for (; pair < partners; pair += FIND_THREADS) {
                const float2 b = roi.points[list[first[layer + 1] + pair]];
                const float z12 = (b.y * a.x - a.y * b.x) / (a.x - b.x);
                if (z12 > Z_MIN && z12 < Z_MAX) {
                    const int bin = __float2int_rn(z12 * BINS_PER_MM - OFFSET);
                    atomicAdd(&n_histo[bin], 1);
                    add_real(&z_histo[bin], z12);
                }
            }
            pair -= partners;
        }
    }
    __syncthreads();
    for (int bin = thread; bin < ROW; bin += FIND_THREADS) {
        n_rows[slice * ROW + bin] = n_histo[bin];
        z_rows[slice * ROW + bin] = z_histo[bin];
    }
}

// grid: x = groups of rows, y = blocks of bins.
__global__ void sumHistos(const int *n_rows, const float *z_rows, int rows, int *n_sums, float *z_sums) {
    const int bin = blockIdx.y * SUM_THREADS + threadIdx.x;
    if (bin >= ROW) {
        return;
    }
    const int each = (rows + gridDim.x - 1) / gridDim.x;
    const int end = min((static_cast<int>(blockIdx.x) + 1) * each, rows);
    int n = 0;
    float z = 0.0f;
    for (int row = blockIdx.x * each; row < end; row++) {
        n += n_rows[row * ROW + bin];
        z += z_rows[row * ROW + bin];
    }
    n_sums[blockIdx.x * ROW + bin] = n;
    z_sums[blockIdx.x * ROW + bin] = z;
}

// Buffers of one RoI in flight, allocated once for the largest RoI.
struct Lane {
    cudaStream_t stream;
    char *pinned, *device;
    int *rows, *partial, *sums, *answer;
    long roi = -1;

    void open(const Sample &sample) {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        check(cudaMallocHost(&pinned, sample.most_bytes), "pinned memory");
        check(cudaMalloc(&device, sample.most_bytes), "memory");
        check(cudaMalloc(&rows, sizeof(int) * 2 * ROW * sample.most_slices), "memory of rows");
        check(cudaMalloc(&partial, sizeof(int) * 2 * ROW * (sample.most_slices + 1)), "memory of sums");
        check(cudaMalloc(&sums, sizeof(int) * 2 * ROW), "memory of sums");
        check(cudaMallocHost(&answer, sizeof(int) * 2 * ROW), "pinned memory");
    }

    void close() {
        cudaStreamDestroy(stream);
        cudaFreeHost(pinned);
        cudaFreeHost(answer);
        for (void *memory : {static_cast<void *>(device), static_cast<void *>(rows), static_cast<void *>(partial),
                             static_cast<void *>(sums)}) {
            cudaFree(memory);
        }
    }

    // One consolidated copy.
    void upload(const SlicedRoi &roi) {
        std::memcpy(pinned, roi.cells.data(), roi.cell_bytes());
        std::memcpy(pinned + roi.point_offset(), roi.points.data(), roi.point_bytes());
        check(cudaMemcpyAsync(device, pinned, roi.bytes(), cudaMemcpyHostToDevice, stream), "upload");
    }

    void launch(const SlicedRoi &roi) {
        if (roi.slices == 0) {
            check(cudaMemsetAsync(sums, 0, sizeof(int) * 2 * ROW, stream), "memset");
            return;
        }
        const DeviceRoi in = {reinterpret_cast<const int *>(device),
                              reinterpret_cast<const float2 *>(device + roi.point_offset()), roi.slices};
        const size_t shared = sizeof(int) * (2 * ROW + roi.most_listed);
        float *z_rows = reinterpret_cast<float *>(rows + ROW * roi.slices);
        findZ<<<roi.slices, FIND_THREADS, shared, stream>>>(in, rows, z_rows);
        const int groups = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(roi.slices))));
        const int blocks = (ROW + SUM_THREADS - 1) / SUM_THREADS;
        float *z_partial = reinterpret_cast<float *>(partial + ROW * groups);
        float *z_sums = reinterpret_cast<float *>(sums + ROW);
        sumHistos<<<dim3(groups, blocks), SUM_THREADS, 0, stream>>>(rows, z_rows, roi.slices, partial, z_partial);
        sumHistos<<<dim3(1, blocks), SUM_THREADS, 0, stream>>>(partial, z_partial, groups, sums, z_sums);
        check(cudaGetLastError(), "launch");
    }

    void download() {
        check(cudaMemcpyAsync(answer, sums, sizeof(int) * 2 * ROW, cudaMemcpyDeviceToHost, stream), "download");
    }

    Vertex vertex() {
        check(cudaStreamSynchronize(stream), "RoI");
        return highest(answer, reinterpret_cast<const float *>(answer + ROW));
    }
};

static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// All RoIs once, so many in flight; with `slicing`, from spacepoints in the order of the file.
// Returns seconds.
static double pass(Sample &sample, std::vector<Lane> &lanes, size_t in_flight, bool slicing, std::vector<Vertex> &found) {
    const auto start = std::chrono::steady_clock::now();
    const long count = static_cast<long>(sample.sliced.size());
    for (long i = 0; i < count + static_cast<long>(in_flight); i++) {
        Lane &lane = lanes[i % in_flight];
        if (lane.roi >= 0) {
            found[lane.roi] = lane.vertex();
            lane.roi = -1;
        }
        if (i >= count) {
            continue;
        }
        if (slicing) {
            sample.sliced[i] = slice(sample.raw[i]);
        }
        lane.roi = i;
        lane.upload(sample.sliced[i]);
        lane.launch(sample.sliced[i]);
        lane.download();
    }
    return seconds_since(start);
}

// Kernels only, on the device's clock: each RoI's data are there, and its kernels run several times
// over.
static double kernel_seconds(const Sample &sample, Lane &lane, int repeat) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    double total = 0.0;
    for (const SlicedRoi &roi : sample.sliced) {
        lane.upload(roi);
        check(cudaStreamSynchronize(lane.stream), "upload");
        check(cudaEventRecord(begin, lane.stream), "event");
        for (int i = 0; i < repeat; i++) {
            lane.launch(roi);
        }
        check(cudaEventRecord(end, lane.stream), "event");
        check(cudaEventSynchronize(end), "kernels");
        float milliseconds = 0.0f;
        check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
        total += 1e-3 * milliseconds / repeat;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return total;
}

static void rate(const char *name, const std::vector<double> &seconds, size_t rois) {
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    const double middle = median(seconds);
    std::printf("%-34s %10.0f RoI/s  (%.0f to %.0f)  %8.2f us/RoI\n", name, rois / middle, rois / *most, rois / *least,
                1e6 * middle / rois);
}

int main(int argc, char **argv) {
    const Options options = read_options(argc, argv);
    Sample sample = read_sample(options);
    int device = 0;
    cudaDeviceProp properties;
    check(cudaGetDevice(&device), "device");
    check(cudaGetDeviceProperties(&properties, device), "device");
    const size_t shared = sizeof(int) * (2 * ROW + sample.most_listed);
    if (shared + sizeof(int) * (LAYERS + 1) > properties.sharedMemPerBlockOptin) {
        std::fprintf(stderr, "error: three slices hold %d spacepoints, too many for shared memory\n", sample.most_listed);
        return 1;
    }
    check(cudaFuncSetAttribute(findZ, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)), "findZ");
    std::vector<Lane> lanes(2);
    for (Lane &lane : lanes) {
        lane.open(sample);
    }
    const size_t rois = sample.sliced.size();
    std::printf("%s; %zu RoIs of %.0f spacepoints and %.0f slices\n", properties.name, rois, sample.mean_points(),
                sample.mean_slices());
    std::vector<Vertex> found(rois), again(rois);
    // The first passes warm the device up, and are checked.
    pass(sample, lanes, 1, false, found);
    pass(sample, lanes, 2, true, again);
    const int status = compare(sample, options, found, again);
    std::vector<double> kernels, one, two, sliced;
    for (int round = 0; round < options.rounds; round++) {
        kernels.push_back(kernel_seconds(sample, lanes[0], 5));
        one.push_back(pass(sample, lanes, 1, false, found));
        two.push_back(pass(sample, lanes, 2, false, found));
        sliced.push_back(pass(sample, lanes, 2, true, found));
    }
    rate("kernels", kernels, rois);
    rate("end to end, one stream", one, rois);
    rate("end to end, two streams", two, rois);
    rate("with slicing on the host, two", sliced, rois);
    for (Lane &lane : lanes) {
        lane.close();
    }
    return status;
}

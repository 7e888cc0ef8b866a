/* cudnn: cuDNN's fused attention, the reference that the hand-written variants are held against.
 *
 * Idea. cuDNN takes attention as a graph of plain operations and fuses it into one kernel of its own choice:
 *
 *   Q [B,Hq,Sq,D] x K^T [B,Hkv,D,Skv] -> * 1/sqrt(D)
 *     -> soft cap: / cap, tanh, * cap
 *     -> right bound: select(row + Skv - Sq + right >= column, score, -inf)
 *     -> left bound: select(column + left + 1 - Skv + Sq > row, score, -inf)
 *     -> max, subtract, exp, sum, divide over the keys, the sink among the terms of max and sum -> x V [B,Hkv,Skv,D]
 * -> O [B,Hq,Sq,D] max + log(sum) -> LSE [B,Hq,Sq,1], in memory where the shape asks for it
 *
 * Sequences of different lengths are ragged tensors: [B,H,longest,D] whose sequence b begins at element offset[b] of
 * the packed tokens. Pages of K and V are loaded by an operation of their own, by the page table. Both need the
 * length of each sequence, which bounds the products and a mask: select(row < Sq[b] and column < Skv[b], score,
 * -inf). Lengths and offsets in elements are tensors of cuDNN's own form. attach() makes them, once: a server that
 * calls cuDNN makes them for each batch, and no time here contains that.
 *
 * e4m3: the scores are multiplied by the scales of Q and K, and the probabilities, times 2^8, are rounded to e4m3;
 * the products with V are multiplied by 2^-8 and the scale of V. cuDNN wants the largest probability and the largest
 * element of O as outputs too, which nobody reads here.
 *
 * Everything between the two products is virtual (never in memory), in fp32 but for the probabilities, which are
 * rounded to the dtype of V as its tensor cores want them. Heads broadcast: Hq a multiple of Hkv is GQA. K^T is K
 * with its last two strides exchanged. This form is understood by every cuDNN 9; the single attention operation of
 * later versions takes no mask before 9.21 and ends in the same kernels.
 *
 * Source. NVIDIA's documentation of the backend graph API and of the attention pattern; the frontend's node
 * descriptions for which attributes each operation wants.
 *
 * The library is loaded with dlopen when it is first needed, so that the program runs without it; CUDNN_PATH names
 * its folder where the loader does not find it. Its headers decide at compile time whether the variant is built.
 * Compiling what it offers and finding the workspace happen in open(); attach() times the offers, once for a problem
 * in a process, and keeps the fastest: cuDNN's own order is that of a heuristic. A launch is one cudnnBackendExecute,
 * which reads its scalars from host memory while it enqueues.
 *
 * Why it can win: a kernel written per architecture (on Hopper: TMA, wgmma, ping-pong warp groups) and chosen by
 * shape. Where it cannot: fp32, e4m3 on Hopper (its O would be of 8 bits too), D above 256, D not a multiple of 8;
 * launch-bound shapes, where any kernel is as good. Budget: its own; grid, registers and shared memory in the report
 * are read back from what it launched. */
#include "kernels/problem/axes.h"
#include "kernels/tiles/attn_params.cuh"

#if defined(__CUDACC__) && __has_include(<cudnn.h>)
#include <cudnn.h>
#if CUDNN_MAJOR >= 9
#define ATTN_WITH_CUDNN 1
#endif
#endif

#ifdef ATTN_WITH_CUDNN
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "kernels/cuda/errors.cuh"

namespace attn {
namespace cudnn {

/* ---- the library --------------------------------------------------------------------------------------------- */

#define CUDNN_CALLS(X)       \
  X(GetVersion)              \
  X(GetErrorString)          \
  X(GetLastErrorString)      \
  X(Create)                  \
  X(SetStream)               \
  X(BackendCreateDescriptor) \
  X(BackendDestroyDescriptor) X(BackendSetAttribute) X(BackendGetAttribute) X(BackendFinalize) X(BackendExecute)

struct Api {
#define CUDNN_MEMBER(name) decltype(&::cudnn##name) name;
  CUDNN_CALLS(CUDNN_MEMBER)
#undef CUDNN_MEMBER
  cudnnHandle_t handle; /* made at the first open(), kept for the process: it holds memory and takes long to make */
  size_t version;       /* of the library that was loaded: 91400 = 9.14.0 */
  char name[40];        /* "cuDNN 9.14.0" */
  char missing[384];    /* why it cannot be used; empty when it can */
};

static bool find_calls(void *library, Api *api) {
#define CUDNN_FIND(name) \
  if ((api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, "cudnn" #name))) == nullptr) return false;
  CUDNN_CALLS(CUDNN_FIND)
#undef CUDNN_FIND
  return true;
}

/* CUDNN_PATH, the folder that holds lib/, comes before the loader's own search. */
static void *open_library() {
  const char *folder = getenv("CUDNN_PATH");
  for (const char *sub : {"lib", "lib64"}) {
    char path[512];
    if (folder == nullptr) break;
    snprintf(path, sizeof path, "%s/%s/libcudnn.so.9", folder, sub);
    if (void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
}

static Api load_api() {
  Api api = {};
  void *library = open_library();
  if (library == nullptr) {
    const char *why = dlerror();
    snprintf(api.missing, sizeof api.missing, "cuDNN 9 cannot be loaded (%s); name its folder in CUDNN_PATH",
             why != nullptr ? why : "no reason given");
  } else if (!find_calls(library, &api)) {
    snprintf(api.missing, sizeof api.missing,
             "libcudnn.so.9 lacks a call of its backend API; install cuDNN 9.0 or newer");
  } else {
    const size_t v = api.version = api.GetVersion();
    snprintf(api.name, sizeof api.name, "cuDNN %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
  }
  return api;
}

static Api &api() {
  static Api loaded = load_api();
  return loaded;
}

static const char *missing() { return api().missing[0] != '\0' ? api().missing : nullptr; }

static const char *library() { return api().name; }

/* ---- errors -------------------------------------------------------------------------------------------------- */

static enum status_code code_of(cudnnStatus_t error) {
  if (error >= CUDNN_STATUS_NOT_SUPPORTED && error < CUDNN_STATUS_INTERNAL_ERROR) return STATUS_UNSUPPORTED;
  const bool no_memory = error == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                         error == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  return no_memory ? STATUS_MEMORY : STATUS_DEVICE;
}

/* The library's name and what it has to say about its last failure, on one line; the latter may be empty. */
struct Detail {
  const char *version;
  char text[280];
};

static struct Detail detail_now() {
  struct Detail d = {api().name, {}};
  char all[4096] = {};
  api().GetLastErrorString(all, sizeof all - 1);
  /* Of a list of warnings the first says why, behind what was tried; the others where. */
  const char *reason = strstr(all, "Reason: "), *text = reason != nullptr ? reason + strlen("Reason: ") : all;
  const char *next = reason != nullptr ? strstr(text, "Warning: ") : nullptr;
  const size_t length = next != nullptr ? static_cast<size_t>(next - text) : strlen(text);
  snprintf(d.text, sizeof d.text, "%.*s", static_cast<int>(length), text);
  for (char *c = d.text; *c != '\0'; ++c) {
    if (*c == '\n' || *c == '\r' || *c == '\t') *c = ' ';
  }
  return d;
}

/* Which call on what, the status's name, and the library's own words. */
static struct status error_status(cudnnStatus_t error, const char *call, const char *what) {
  const struct Detail d = detail_now();
  return status_make(code_of(error), "%s: %s of %s: %s (%d)%s%s", d.version, call, what, api().GetErrorString(error),
                     static_cast<int>(error), d.text[0] != '\0' ? ": " : "", d.text);
}

/* ---- descriptors --------------------------------------------------------------------------------------------- */

/* Descriptors under construction and their owner. The first failure is kept and every later call does nothing, so
 * that a graph is written as a list of its nodes. `what` names the node in that failure. */
class Builder {
 public:
  Builder() = default;
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;
  ~Builder() {
    for (auto d = owned_.rbegin(); d != owned_.rend(); ++d) api().BackendDestroyDescriptor(*d);
  }

  bool ok() const { return !status_failed(&status); }

  void record(cudnnStatus_t error, const char *call, const char *what) {
    if (ok() && error != CUDNN_STATUS_SUCCESS) status = error_status(error, call, what);
  }

  cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type, const char *what) {
    cudnnBackendDescriptor_t descriptor = nullptr;
    if (!ok()) return nullptr;
    record(api().BackendCreateDescriptor(type, &descriptor), "cudnnBackendCreateDescriptor", what);
    if (ok()) owned_.push_back(descriptor);
    return descriptor;
  }

  void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           int64_t count, const void *values, const char *call, const char *what) {
    if (ok()) record(api().BackendSetAttribute(descriptor, name, type, count, values), call, what);
  }

  void finalize(cudnnBackendDescriptor_t descriptor, const char *what) {
    if (ok()) record(api().BackendFinalize(descriptor), "cudnnBackendFinalize", what);
  }

  struct status status = status_ok();

 private:
  std::vector<cudnnBackendDescriptor_t> owned_;
};

#define CUDNN_SET(builder, descriptor, name, type, count, values, what)          \
  (builder).set(descriptor, CUDNN_ATTR_##name, CUDNN_TYPE_##type, count, values, \
                "cudnnBackendSetAttribute(CUDNN_ATTR_" #name ")", what)

/* ---- tensors and operations ---------------------------------------------------------------------------------- */

/* Every tensor has four dimensions: batch, head, and the rows and columns of a matrix. */
struct Extent {
  int64_t dim[4], stride[4];
};

static Extent dense(int64_t b, int64_t h, int64_t rows, int64_t columns) {
  return {{b, h, rows, columns}, {h * rows * columns, rows * columns, columns, 1}};
}

static Extent extent_of(const attn_view &v) {
  return {{v.batch, v.heads, v.tokens, v.columns},
          {static_cast<int64_t>(v.batch_stride), static_cast<int64_t>(v.head_stride),
           static_cast<int64_t>(v.token_stride), 1}};
}

static Extent transposed(const Extent &e) {
  return {{e.dim[0], e.dim[1], e.dim[3], e.dim[2]}, {e.stride[0], e.stride[1], e.stride[3], e.stride[2]}};
}

enum Place { IN_MEMORY, VIRTUAL, BY_VALUE };

/* Both pointers of the buffers and of the host scalars meet cuDNN's alignment for 16-byte loads. */
constexpr int64_t kAlignment = 16;

static cudnnDataType_t type_of(enum attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F16: return CUDNN_DATA_HALF;
    case ATTN_BF16: return CUDNN_DATA_BFLOAT16;
    case ATTN_E4M3: return CUDNN_DATA_FP8_E4M3;
    case ATTN_F32: break; /* not declared */
  }
  return CUDNN_DATA_FLOAT;
}

/* What the graph reads from host memory while it is enqueued. */
union Scalar {
  float f32;
  int32_t i32;
};

/* Whole numbers on the device that cuDNN wants in its own form. Memory of the process that attach() fills. */
struct Numbers {
  std::vector<int64_t> value;
  cudnnDataType_t type; /* INT32 or INT64 */
  void *device;         /* NULL before attach() */
};

/* A tensor that the variant pack points at: one of the buffers, a scalar, or numbers. */
struct Bound {
  int64_t id;
  attn_role role; /* of the buffer, where the others are NULL */
  const Scalar *scalar;
  const Numbers *numbers;
};

/* A compiled plan, and its shortest time so far. `config` is its place among the configurations that were offered. */
struct Plan {
  cudnnBackendDescriptor_t plan;
  size_t config;
  uint64_t workspace_bytes;
  double us;
};

/* One opened problem. The scalars' addresses are in the variant pack, so they never move. */
struct State {
  Builder builder;
  attn_problem shape;
  cudaStream_t stream;
  bool searches;           /* among all plans; else the first one is taken */
  std::vector<Plan> plans; /* in the library's order */
  uint32_t number, count;  /* of the chosen plan, from 1, and of all that were timed; 0: none were */
  cudnnBackendDescriptor_t plan, pack;
  std::deque<Scalar> scalars;
  std::deque<Numbers> numbers;
  std::vector<Bound> bound;

  ~State() {
    for (const Numbers &n : numbers) cudaFree(n.device);
  }
};

class Graph {
 public:
  explicit Graph(State &state)
      : state_(state),
        s_(state.shape),
        b_(state.builder),
        io_(type_of(s_.dtype)),
        score_(dense(s_.B, s_.Hq, s_.Sq, s_.Skv)),
        row_(dense(s_.B, s_.Hq, s_.Sq, 1)) {}

  /* The finalized operation graph; NULL when the builder failed. */
  cudnnBackendDescriptor_t build(cudnnHandle_t handle);

 private:
  using Tensor = cudnnBackendDescriptor_t;

  Tensor tensor(int64_t id, const Extent &extent, cudnnDataType_t type, Place place, const char *what,
                Tensor offsets = nullptr);
  Tensor in_memory(attn_role role, const Extent &extent, cudnnDataType_t type, const char *what,
                   Tensor offsets = nullptr);
  Tensor numbers(std::vector<int64_t> values, const char *what);
  Tensor device_float(float value, const char *what);
  Tensor multiplied(Tensor x, Tensor by, const Extent &extent, const char *what);
  Tensor weights(Tensor p);
  void weigh(Tensor p, Tensor v, Tensor o);
  Tensor packed(attn_role role, const char *what);
  Tensor queries(attn_role role, const char *what);
  Tensor keys(attn_role role, const char *what);
  Tensor paged(attn_role role, const char *what);
  void lengths();
  Tensor scalar(Scalar value, cudnnDataType_t type, const char *what);
  Tensor scalar(float value, const char *what) { return scalar({.f32 = value}, CUDNN_DATA_FLOAT, what); }
  Tensor scalar(int32_t value, const char *what) { return scalar({.i32 = value}, CUDNN_DATA_INT32, what); }
  Tensor between(const Extent &extent, cudnnDataType_t type, const char *what) {
    return tensor(next_id_++, extent, type, VIRTUAL, what);
  }
  void matmul(Tensor a, Tensor b, Tensor c, Tensor columns, Tensor summed, const char *what);
  void pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, Tensor x, Tensor b, Tensor t, Tensor y,
                 int64_t axis, const char *what);
  void reduce(cudnnReduceTensorOp_t op, Tensor x, Tensor y, const char *what);
  Tensor binary(cudnnPointwiseMode_t mode, Tensor x, Tensor b, cudnnDataType_t out, const char *what);
  Tensor index(int64_t axis, const char *what);
  Tensor select(Tensor score, Tensor seen, const char *what);
  Tensor soft_cap(Tensor score);
  Tensor padding(Tensor score);
  Tensor right_bound(Tensor score);
  Tensor left_bound(Tensor score);
  Tensor softmax(Tensor score);

  State &state_;
  const attn_problem &s_;
  Builder &b_;
  const cudnnDataType_t io_;
  const Extent score_, row_;
  int64_t next_id_ = 1;
  std::vector<cudnnBackendDescriptor_t> operations_;
  Tensor indexed_ = nullptr;            /* whose shape the indices take */
  Tensor sq_ = nullptr, skv_ = nullptr; /* lengths of the sequences; NULL where all have Sq and Skv */
};

Graph::Tensor Graph::tensor(int64_t id, const Extent &extent, cudnnDataType_t type, Place place, const char *what,
                            Tensor offsets) {
  const bool is_virtual = place == VIRTUAL, by_value = place == BY_VALUE;
  Tensor t = b_.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);
  CUDNN_SET(b_, t, TENSOR_UNIQUE_ID, INT64, 1, &id, what);
  CUDNN_SET(b_, t, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type, what);
  CUDNN_SET(b_, t, TENSOR_BYTE_ALIGNMENT, INT64, 1, &kAlignment, what);
  CUDNN_SET(b_, t, TENSOR_DIMENSIONS, INT64, 4, extent.dim, what);
  CUDNN_SET(b_, t, TENSOR_STRIDES, INT64, 4, extent.stride, what);
  CUDNN_SET(b_, t, TENSOR_IS_VIRTUAL, BOOLEAN, 1, &is_virtual, what);
  CUDNN_SET(b_, t, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &by_value, what);
  if (offsets != nullptr) CUDNN_SET(b_, t, TENSOR_RAGGED_OFFSET_DESC, BACKEND_DESCRIPTOR, 1, &offsets, what);
  b_.finalize(t, what);
  return t;
}

Graph::Tensor Graph::in_memory(attn_role role, const Extent &extent, cudnnDataType_t type, const char *what,
                               Tensor offsets) {
  state_.bound.push_back({next_id_, role, nullptr, nullptr});
  return tensor(next_id_++, extent, type, IN_MEMORY, what, offsets);
}

Graph::Tensor Graph::numbers(std::vector<int64_t> values, const char *what) {
  const bool is_long = *std::max_element(values.begin(), values.end()) > std::numeric_limits<int32_t>::max();
  const int64_t count = static_cast<int64_t>(values.size());
  state_.numbers.push_back({std::move(values), is_long ? CUDNN_DATA_INT64 : CUDNN_DATA_INT32, nullptr});
  state_.bound.push_back({next_id_, ATTN_Q, nullptr, &state_.numbers.back()});
  return tensor(next_id_++, dense(count, 1, 1, 1), state_.numbers.back().type, IN_MEMORY, what);
}

/* A number in device memory, for what is only taken from there, or written. */
Graph::Tensor Graph::device_float(float value, const char *what) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  state_.numbers.push_back({{bits}, CUDNN_DATA_FLOAT, nullptr});
  state_.bound.push_back({next_id_, ATTN_Q, nullptr, &state_.numbers.back()});
  return tensor(next_id_++, dense(1, 1, 1, 1), CUDNN_DATA_FLOAT, IN_MEMORY, what);
}

Graph::Tensor Graph::multiplied(Tensor x, Tensor by, const Extent &extent, const char *what) {
  Tensor y = between(extent, CUDNN_DATA_FLOAT, what);
  pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, x, by, nullptr, y, -1, what);
  return y;
}

constexpr float kWeightScale = 256; /* of weights of e4m3, the largest of which is 1 */

/* Weights as e4m3. cuDNN wants the largest of them as an output too. */
Graph::Tensor Graph::weights(Tensor p) {
  reduce(CUDNN_REDUCE_TENSOR_AMAX, p, device_float(0, "largest weight"), "largest weight");
  Tensor y = between(score_, io_, "scaled weights");
  pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, p, device_float(kWeightScale, "scale of weights"), nullptr, y, -1,
            "scaled weights");
  return y;
}

void Graph::weigh(Tensor p, Tensor v, Tensor o) {
  if (s_.dtype != ATTN_E4M3) return matmul(p, v, o, nullptr, skv_, "P x V");
  const Extent extent = dense(s_.B, s_.Hq, s_.Sq, s_.Dv), one = dense(1, 1, 1, 1);
  Tensor sum = between(extent, CUDNN_DATA_FLOAT, "P x V");
  matmul(p, v, sum, nullptr, skv_, "P x V");
  sum = multiplied(sum, device_float(1 / kWeightScale, "descale of weights"), extent, "descaled weights");
  sum = multiplied(sum, in_memory(ATTN_V_SCALE, one, CUDNN_DATA_FLOAT, "scale of V"), extent, "descaled V");
  pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, sum, device_float(1, "scale of O"), nullptr, o, -1, "scaled O");
  reduce(CUDNN_REDUCE_TENSOR_AMAX, sum, device_float(0, "largest of O"), "largest of O");
}

/* The lengths of the sequences, where they differ or are not those of the tensors. */
void Graph::lengths() {
  std::vector<int64_t> sq, skv;
  for (uint32_t b = 0; b < s_.B; ++b) {
    const attn_sequence sequence = attn_sequence_of(&s_, b);
    sq.push_back(sequence.Sq);
    skv.push_back(sequence.Skv);
  }
  sq_ = numbers(std::move(sq), "lengths of queries");
  skv_ = numbers(std::move(skv), "lengths of keys");
}

/* A tensor of all sequences behind one another, whose form is that of the longest. K is transposed. */
Graph::Tensor Graph::packed(attn_role role, const char *what) {
  const attn_view v = attn_view_of(&s_, role);
  const bool is_key = attn_role_rows(role) == ATTN_ROWS_KEYS;
  const int64_t tokens = is_key ? s_.Skv : s_.Sq, stride = static_cast<int64_t>(v.token_stride);
  std::vector<int64_t> first;
  for (uint32_t b = 0; b <= s_.B; ++b) {
    const attn_sequence sequence = attn_sequence_of(&s_, b);
    first.push_back(stride * (is_key ? sequence.k_first : sequence.q_first));
  }
  const Extent longest = {{s_.B, v.heads, tokens, v.columns},
                          {tokens * stride, static_cast<int64_t>(v.head_stride), stride, 1}};
  Tensor offsets = numbers(std::move(first), "offsets of the sequences");
  return in_memory(role, role == ATTN_K ? transposed(longest) : longest, type_of(attn_dtype_of(&s_, role)), what,
                   offsets);
}

Graph::Tensor Graph::queries(attn_role role, const char *what) {
  if (attn_is_ragged(&s_)) return packed(role, what);
  return in_memory(role, extent_of(attn_view_of(&s_, role)), type_of(attn_dtype_of(&s_, role)), what);
}

Graph::Tensor Graph::keys(attn_role role, const char *what) {
  if (attn_is_paged(&s_)) return paged(role, what);
  if (attn_is_ragged(&s_)) return packed(role, what);
  const Extent extent = extent_of(attn_view_of(&s_, role));
  return in_memory(role, role == ATTN_K ? transposed(extent) : extent, io_, what);
}

/* K or V of all sequences as they would lie without pages, never in memory. */
Graph::Tensor Graph::paged(attn_role role, const char *what) {
#if CUDNN_VERSION >= 90500
  const attn_view v = attn_view_of(&s_, role);
  const Extent together = dense(s_.B, s_.Hkv, s_.Skv, v.columns);
  Tensor cache = in_memory(role, extent_of(v), io_, what);
  Tensor table =
      in_memory(ATTN_PAGE_TABLE, dense(s_.B, 1, attn_pages_for(s_.Skv, s_.page), 1), CUDNN_DATA_INT32, "page table");
  Tensor all = between(role == ATTN_K ? transposed(together) : together, io_, what);
  cudnnBackendDescriptor_t op = b_.create(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, what);
  CUDNN_SET(b_, op, OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, BACKEND_DESCRIPTOR, 1, &cache, what);
  CUDNN_SET(b_, op, OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, BACKEND_DESCRIPTOR, 1, &table, what);
  CUDNN_SET(b_, op, OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, BACKEND_DESCRIPTOR, 1, &skv_, what);
  CUDNN_SET(b_, op, OPERATION_PAGED_CACHE_LOAD_YDESC, BACKEND_DESCRIPTOR, 1, &all, what);
  b_.finalize(op, what);
  operations_.push_back(op);
  return all;
#else
  b_.status = status_make(STATUS_UNSUPPORTED,
                          "%s: built without the operation that loads pages, which has come with "
                          "cuDNN 9.5",
                          what);
  return in_memory(role, extent_of(attn_view_of(&s_, role)), io_, what);
#endif
}

Graph::Tensor Graph::scalar(Scalar value, cudnnDataType_t type, const char *what) {
  state_.scalars.push_back(value);
  state_.bound.push_back({next_id_, ATTN_Q, &state_.scalars.back(), nullptr});
  return tensor(next_id_++, dense(1, 1, 1, 1), type, BY_VALUE, what);
}

/* `columns` and `summed` have, of each sequence, how many columns of c and of terms in its sums count; NULL: all. */
void Graph::matmul(Tensor a, Tensor b, Tensor c, Tensor columns, Tensor summed, const char *what) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnBackendDescriptor_t how = b_.create(CUDNN_BACKEND_MATMUL_DESCRIPTOR, what);
  CUDNN_SET(b_, how, MATMUL_COMP_TYPE, DATA_TYPE, 1, &compute, what);
  b_.finalize(how, what);
  cudnnBackendDescriptor_t op = b_.create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, what);
  CUDNN_SET(b_, op, OPERATION_MATMUL_ADESC, BACKEND_DESCRIPTOR, 1, &a, what);
  CUDNN_SET(b_, op, OPERATION_MATMUL_BDESC, BACKEND_DESCRIPTOR, 1, &b, what);
  CUDNN_SET(b_, op, OPERATION_MATMUL_CDESC, BACKEND_DESCRIPTOR, 1, &c, what);
  CUDNN_SET(b_, op, OPERATION_MATMUL_DESC, BACKEND_DESCRIPTOR, 1, &how, what);
  if (sq_ != nullptr) CUDNN_SET(b_, op, OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, BACKEND_DESCRIPTOR, 1, &sq_, what);
  if (columns != nullptr)
    CUDNN_SET(b_, op, OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, BACKEND_DESCRIPTOR, 1, &columns, what);
  if (summed != nullptr)
    CUDNN_SET(b_, op, OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, BACKEND_DESCRIPTOR, 1, &summed, what);
  b_.finalize(op, what);
  operations_.push_back(op);
}

/* y = mode(x, b, t); b and t are NULL where the mode takes fewer inputs, axis is -1 for all but indices. */
void Graph::pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, Tensor x, Tensor b, Tensor t, Tensor y,
                      int64_t axis, const char *what) {
  const float one = 1.0f;
  cudnnBackendDescriptor_t how = b_.create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
  CUDNN_SET(b_, how, POINTWISE_MODE, POINTWISE_MODE, 1, &mode, what);
  CUDNN_SET(b_, how, POINTWISE_MATH_PREC, DATA_TYPE, 1, &compute, what);
  if (axis >= 0) CUDNN_SET(b_, how, POINTWISE_AXIS, INT64, 1, &axis, what);
  b_.finalize(how, what);
  cudnnBackendDescriptor_t op = b_.create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what);
  CUDNN_SET(b_, op, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, &how, what);
  CUDNN_SET(b_, op, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, &x, what);
  if (b != nullptr) CUDNN_SET(b_, op, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 1, &b, what);
  if (t != nullptr) CUDNN_SET(b_, op, OPERATION_POINTWISE_TDESC, BACKEND_DESCRIPTOR, 1, &t, what);
  CUDNN_SET(b_, op, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, &y, what);
  CUDNN_SET(b_, op, OPERATION_POINTWISE_ALPHA1, FLOAT, 1, &one, what);
  CUDNN_SET(b_, op, OPERATION_POINTWISE_ALPHA2, FLOAT, 1, &one, what);
  b_.finalize(op, what);
  operations_.push_back(op);
}

void Graph::reduce(cudnnReduceTensorOp_t how_to, Tensor x, Tensor y, const char *what) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnBackendDescriptor_t how = b_.create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, what);
  CUDNN_SET(b_, how, REDUCTION_COMP_TYPE, DATA_TYPE, 1, &compute, what);
  CUDNN_SET(b_, how, REDUCTION_OPERATOR, REDUCTION_OPERATOR_TYPE, 1, &how_to, what);
  b_.finalize(how, what);
  cudnnBackendDescriptor_t op = b_.create(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, what);
  CUDNN_SET(b_, op, OPERATION_REDUCTION_DESC, BACKEND_DESCRIPTOR, 1, &how, what);
  CUDNN_SET(b_, op, OPERATION_REDUCTION_XDESC, BACKEND_DESCRIPTOR, 1, &x, what);
  CUDNN_SET(b_, op, OPERATION_REDUCTION_YDESC, BACKEND_DESCRIPTOR, 1, &y, what);
  b_.finalize(op, what);
  operations_.push_back(op);
}

/* A new virtual tensor of the scores' shape: mode(x, b), computed in the type it is kept in; b may be NULL. */
Graph::Tensor Graph::binary(cudnnPointwiseMode_t mode, Tensor x, Tensor b, cudnnDataType_t type, const char *what) {
  Tensor y = between(score_, type, what);
  pointwise(mode, type, x, b, nullptr, y, -1, what);
  return y;
}

/* Every element's index along an axis of the scores. */
Graph::Tensor Graph::index(int64_t axis, const char *what) {
  Tensor y = between(score_, CUDNN_DATA_INT32, what);
  pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, indexed_, nullptr, nullptr, y, axis, what);
  return y;
}

/* The scores that are seen, minus infinity for the others. Before 9.10 an infinity became NaN in the softmax. */
Graph::Tensor Graph::select(Tensor score, Tensor seen, const char *what) {
  const float hidden =
      api().version < 91000 ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity();
  Tensor minus_inf = scalar(hidden, "scalar -inf"), masked = between(score_, CUDNN_DATA_FLOAT, what);
  pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, score, minus_inf, seen, masked, -1, what);
  return masked;
}

Graph::Tensor Graph::soft_cap(Tensor score) {
  Tensor cap = scalar(s_.softcap, "scalar soft cap");
  score = binary(CUDNN_POINTWISE_DIV, score, cap, CUDNN_DATA_FLOAT, "divide by the soft cap");
  score = binary(CUDNN_POINTWISE_TANH_FWD, score, nullptr, CUDNN_DATA_FLOAT, "tanh");
  return binary(CUDNN_POINTWISE_MUL, score, cap, CUDNN_DATA_FLOAT, "multiply by the soft cap");
}

/* What lies behind the length of a sequence is not seen. */
Graph::Tensor Graph::padding(Tensor score) {
  indexed_ = score;
  Tensor row = index(2, "row index"), column = index(3, "column index");
  row = binary(CUDNN_POINTWISE_CMP_LT, row, sq_, CUDNN_DATA_BOOLEAN, "row < Sq");
  column = binary(CUDNN_POINTWISE_CMP_LT, column, skv_, CUDNN_DATA_BOOLEAN, "column < Skv");
  Tensor seen = binary(CUDNN_POINTWISE_LOGICAL_AND, row, column, CUDNN_DATA_BOOLEAN, "row < Sq and column < Skv");
  return select(score, seen, "select by length");
}

/* Query i sees key j when i + Skv - Sq + right >= j. The order of these operations is the one that cuDNN recognises;
 * its own description of the pattern has the same. */
Graph::Tensor Graph::right_bound(Tensor score) {
  indexed_ = score;
  Tensor row = index(2, "row index"), column = index(3, "column index");
  if (s_.Skv != s_.Sq || skv_ != nullptr) {
    Tensor skv = skv_ != nullptr ? skv_ : scalar(static_cast<int32_t>(s_.Skv), "scalar Skv");
    Tensor sq = sq_ != nullptr ? sq_ : scalar(static_cast<int32_t>(s_.Sq), "scalar Sq");
    row = binary(CUDNN_POINTWISE_ADD, row, skv, CUDNN_DATA_INT32, "row + Skv");
    row = binary(CUDNN_POINTWISE_SUB, row, sq, CUDNN_DATA_INT32, "row + Skv - Sq");
  }
  if (s_.right > 0)
    row = binary(CUDNN_POINTWISE_ADD, row, scalar(s_.right, "scalar right bound"), CUDNN_DATA_INT32, "row + right");
  Tensor seen = binary(CUDNN_POINTWISE_CMP_GE, row, column, CUDNN_DATA_BOOLEAN, "row >= column");
  return select(score, seen, "right bound's select");
}

/* Query i sees key j when j + left + 1 - (Skv - Sq) > i: cuDNN counts the row's own position. */
Graph::Tensor Graph::left_bound(Tensor score) {
  const double distance = static_cast<double>(s_.left) + 1 - s_.Skv + s_.Sq;
  indexed_ = score;
  Tensor row = index(2, "row index"), column = index(3, "column index");
  if (skv_ == nullptr) {
    Tensor bound = scalar(static_cast<float>(distance), "scalar left bound");
    column = binary(CUDNN_POINTWISE_ADD, column, bound, CUDNN_DATA_FLOAT, "column + left");
  } else {
    Tensor bound = scalar(s_.left + 1, "scalar left bound");
    column = binary(CUDNN_POINTWISE_ADD, column, bound, CUDNN_DATA_INT32, "column + left");
    column = binary(CUDNN_POINTWISE_SUB, column, skv_, CUDNN_DATA_INT32, "column + left - Skv");
    column = binary(CUDNN_POINTWISE_ADD, column, sq_, CUDNN_DATA_INT32, "column + left - Skv + Sq");
  }
  Tensor seen = binary(CUDNN_POINTWISE_CMP_GT, column, row, CUDNN_DATA_BOOLEAN, "column > row");
  return select(score, seen, "left bound's select");
}

/* Without the logarithm of the sum cuDNN does not recognise a softmax, so it is there where nobody asks for it too.
 */
Graph::Tensor Graph::softmax(Tensor score) {
  const auto row = [this](const char *what) { return between(row_, CUDNN_DATA_FLOAT, what); };
  const auto row_of = [&](cudnnPointwiseMode_t mode, Tensor x, Tensor b, const char *what) {
    Tensor y = row(what);
    pointwise(mode, CUDNN_DATA_FLOAT, x, b, nullptr, y, -1, what);
    return y;
  };
  Tensor largest = row("row maximum"), sum = row("row sum"), log_sum = row("log of the sum");
  Tensor sink = s_.sink ? in_memory(ATTN_SINK, dense(1, s_.Hq, 1, 1), CUDNN_DATA_FLOAT, "tensor sink") : nullptr;
  Tensor lse = s_.lse ? in_memory(ATTN_LSE, row_, CUDNN_DATA_FLOAT, "tensor LSE") : row("LSE");
  reduce(CUDNN_REDUCE_TENSOR_MAX, score, largest, "row maximum");
  if (s_.sink) largest = row_of(CUDNN_POINTWISE_MAX, largest, sink, "maximum of row and sink");
  Tensor shifted = binary(CUDNN_POINTWISE_SUB, score, largest, CUDNN_DATA_FLOAT, "subtract the maximum");
  Tensor power = binary(CUDNN_POINTWISE_EXP, shifted, nullptr, CUDNN_DATA_FLOAT, "exp");
  reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum, "row sum");
  if (s_.sink) {
    Tensor distance = row_of(CUDNN_POINTWISE_SUB, sink, largest, "sink minus the maximum");
    sum = row_of(CUDNN_POINTWISE_ADD, sum, row_of(CUDNN_POINTWISE_EXP, distance, nullptr, "exp of the sink"),
                 "sum of row and sink");
  }
  pointwise(CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, sum, nullptr, nullptr, log_sum, -1, "log of the sum");
  pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, largest, log_sum, nullptr, lse, -1, "LSE");
  const bool is_e4m3 = s_.dtype == ATTN_E4M3;
  Tensor p = between(score_, is_e4m3 ? CUDNN_DATA_FLOAT : io_, "probabilities");
  pointwise(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, power, sum, nullptr, p, -1, "divide by the sum");
  return is_e4m3 ? weights(p) : p;
}

cudnnBackendDescriptor_t Graph::build(cudnnHandle_t handle) {
  if (attn_is_ragged(&s_) || attn_is_paged(&s_)) lengths();
  Tensor q = queries(ATTN_Q, "tensor Q"), k = keys(ATTN_K, "tensor K^T");
  Tensor raw = between(score_, CUDNN_DATA_FLOAT, "scores");
  matmul(q, k, raw, skv_, nullptr, "Q x K^T");
  Tensor scale = scalar(static_cast<float>(1.0 / sqrt(static_cast<double>(s_.D))), "scalar 1/sqrt(D)");
  Tensor score = binary(CUDNN_POINTWISE_MUL, raw, scale, CUDNN_DATA_FLOAT, "scale");
  if (s_.dtype == ATTN_E4M3) {
    const Extent one = dense(1, 1, 1, 1);
    score = multiplied(score, in_memory(ATTN_Q_SCALE, one, CUDNN_DATA_FLOAT, "scale of Q"), score_, "descaled Q");
    score = multiplied(score, in_memory(ATTN_K_SCALE, one, CUDNN_DATA_FLOAT, "scale of K"), score_, "descaled K");
  }
  if (s_.softcap > 0) score = soft_cap(score);
  if (skv_ != nullptr) score = padding(score);
  if (s_.right >= 0) score = right_bound(score);
  if (s_.left >= 0) score = left_bound(score);
  Tensor p = softmax(score), v = keys(ATTN_V, "tensor V"), o = queries(ATTN_O, "tensor O");
  weigh(p, v, o);

  const char *what = "the operation graph";
  cudnnBackendDescriptor_t graph = b_.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, what);
  CUDNN_SET(b_, graph, OPERATIONGRAPH_HANDLE, HANDLE, 1, &handle, what);
  CUDNN_SET(b_, graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, static_cast<int64_t>(operations_.size()),
            operations_.data(), what);
  b_.finalize(graph, what);
  return b_.ok() ? graph : nullptr;
}

/* ---- from the graph to a plan -------------------------------------------------------------------------------- */

/* The engine configurations that a heuristic offers, best first. None when it fails, which is noted in *why. */
static std::vector<cudnnBackendDescriptor_t> offers(Builder &b, cudnnBackendDescriptor_t graph,
                                                    cudnnBackendHeurMode_t mode, struct status *why) {
  const char *what = "the engine heuristic";
  Builder heuristic;
  int64_t count = 0;
  cudnnBackendDescriptor_t h = heuristic.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what);
  CUDNN_SET(heuristic, h, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, &graph, what);
  CUDNN_SET(heuristic, h, ENGINEHEUR_MODE, HEUR_MODE, 1, &mode, what);
  heuristic.finalize(h, what);
  const char *call = "cudnnBackendGetAttribute(CUDNN_ATTR_ENGINEHEUR_RESULTS)";
  const auto get = [&](int64_t room, void *out) {
    if (!heuristic.ok()) return;
    heuristic.record(
        api().BackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &count, out),
        call, what);
  };
  get(0, nullptr);
  std::vector<cudnnBackendDescriptor_t> configs;
  for (int64_t i = 0; i < count && b.ok(); ++i) {
    configs.push_back(b.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine configuration"));
  }
  if (count > 0 && b.ok()) get(count, configs.data());
  configs.resize(heuristic.ok() && b.ok() ? static_cast<size_t>(count) : 0);
  if (!heuristic.ok()) *why = heuristic.status;
  if (heuristic.ok() && count == 0) {
    const struct Detail d = detail_now();
    *why = status_make(STATUS_UNSUPPORTED, "%s offers no engine here%s%s", d.version, d.text[0] != '\0' ? ": " : "",
                       d.text);
  }
  return configs;
}

/* Compiles one offer; NULL when the library cannot after all, which is noted in *why. */
static cudnnBackendDescriptor_t plan_of(Builder &b, cudnnBackendDescriptor_t config, struct status *why) {
  const char *what = "the execution plan";
  Api &a = api();
  cudnnBackendDescriptor_t plan = b.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, what);
  CUDNN_SET(b, plan, EXECUTION_PLAN_HANDLE, HANDLE, 1, &a.handle, what);
  CUDNN_SET(b, plan, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, &config, what);
  if (!b.ok()) return nullptr;
  const cudnnStatus_t error = a.BackendFinalize(plan);
  if (error == CUDNN_STATUS_SUCCESS) return plan;
  *why = error_status(error, "cudnnBackendFinalize", what);
  return nullptr;
}

static struct status workspace_of(cudnnBackendDescriptor_t plan, uint64_t *workspace_bytes) {
  int64_t bytes = 0, count = 0;
  const cudnnStatus_t error =
      api().BackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes);
  *workspace_bytes = static_cast<uint64_t>(bytes);
  if (error == CUDNN_STATUS_SUCCESS) return status_ok();
  return error_status(error, "cudnnBackendGetAttribute(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)",
                      "the execution plan");
}

/* What a search found before: the offer to compile, and what to say of it. */
struct Found {
  std::string key;
  size_t config;
  uint32_t number, count;
};

static std::vector<Found> &found_before() {
  static std::vector<Found> found;
  return found;
}

static std::string key_of(const State &s) {
  char key[AXIS_KEY_MAX];
  axes_key(&s.shape, key);
  return key;
}

static const Found *find_before(const State &s) {
  const std::string key = key_of(s);
  for (const Found &found : found_before()) {
    if (s.searches && found.key == key) return &found;
  }
  return nullptr;
}

constexpr size_t kPlansMax = 8;
constexpr uint64_t kMoreWorkspaceMax = uint64_t{256} << 20; /* beyond that of the first plan */

/* Keeps the plan of an offer where it can be compiled and needs no more memory than the others. */
static struct status take_offer(State *s, cudnnBackendDescriptor_t config, size_t index, struct status *why) {
  Plan plan = {plan_of(s->builder, config, why), index, 0, INFINITY};
  if (plan.plan == nullptr) return s->builder.status;
  TRY(workspace_of(plan.plan, &plan.workspace_bytes));
  if (s->plans.empty() || plan.workspace_bytes <= s->plans[0].workspace_bytes + kMoreWorkspaceMax)
    s->plans.push_back(plan);
  return status_ok();
}

/* Mode A alone: what the fallback heuristic offers for other graphs never takes attention, and its refusals would
 * hide the reason that matters. */
static struct status compile_plans(State *s, cudnnBackendDescriptor_t graph) {
  struct status why = status_ok();
  const Found *before = find_before(*s);
  const std::vector<cudnnBackendDescriptor_t> configs = offers(s->builder, graph, CUDNN_HEUR_MODE_A, &why);
  const size_t most = before == nullptr && s->searches ? kPlansMax : 1;
  const size_t first = before != nullptr && before->config < configs.size() ? before->config : 0;
  for (size_t i = first; i < configs.size() && s->plans.size() < most; ++i) TRY(take_offer(s, configs[i], i, &why));
  if (s->plans.empty()) return s->builder.ok() ? why : s->builder.status;
  s->plan = s->plans[0].plan;
  if (before != nullptr) s->number = before->number, s->count = before->count;
  return status_ok();
}

static struct status use_stream(void *stream) {
  Api &a = api();
  cudnnStatus_t error = a.handle == nullptr ? a.Create(&a.handle) : CUDNN_STATUS_SUCCESS;
  if (error != CUDNN_STATUS_SUCCESS) return error_status(error, "cudnnCreate", "the handle");
  error = a.SetStream(a.handle, static_cast<cudaStream_t>(stream));
  return error == CUDNN_STATUS_SUCCESS ? status_ok() : error_status(error, "cudnnSetStream", "the handle");
}

/* What the version or the GPU at hand does not have; what else it refuses it says itself. */
static struct status require(const attn_problem &shape, const device_info &device) {
  static const struct {
    bool (*needs)(const attn_problem &);
    size_t version;
    const char *what;
  } features[] = {
      {[](const attn_problem &s) { return attn_is_paged(&s); }, 90500, "pages need 9.5"},
      {[](const attn_problem &s) { return attn_is_paged(&s) && attn_is_ragged(&s); }, 90700,
       "pages in a ragged batch need 9.7"},
      {[](const attn_problem &s) { return attn_is_paged(&s) && std::max(s.D, s.Dv) > 128; }, 91000,
       "pages with D above 128 need 9.10"},
      {[](const attn_problem &s) { return s.dtype == ATTN_E4M3; }, 91300, "e4m3 with O in 16 bits needs 9.13"},
  };
  for (const auto &feature : features) {
    if (feature.needs(shape) && api().version < feature.version)
      return status_make(STATUS_UNSUPPORTED, "%s is too old: %s", api().name, feature.what);
  }
  if (attn_is_ragged(&shape) && device.cc_major < 9 && api().version < 91801)
    return status_make(STATUS_UNSUPPORTED, "%s is too old: ragged batches below compute capability 9.0 need 9.18.1",
                       api().name);
  return status_ok();
}

static struct status open_state(State *s, uint64_t *workspace_bytes) {
  cudnnBackendDescriptor_t graph = Graph(*s).build(api().handle);
  if (graph == nullptr) return s->builder.status;
  TRY(compile_plans(s, graph));
  *workspace_bytes = 0;
  for (const Plan &plan : s->plans) *workspace_bytes = std::max(*workspace_bytes, plan.workspace_bytes);
  return status_ok();
}

/* ---- the fastest plan ---------------------------------------------------------------------------------------- */

constexpr double kGraphBelowUs = 500;  /* launches of less are timed several at once, without the host between them */
constexpr double kGraphUs = 300;       /* about how long such a graph lasts */
constexpr double kOnceAboveUs = 20000; /* launches of more are not timed again */
constexpr double kFasterAtLeast = 0.99; /* of the first plan's time: less of a difference is chance */
constexpr int kRounds = 5;

static struct status execute(const State &s, cudnnBackendDescriptor_t plan) {
  const cudnnStatus_t error = api().BackendExecute(api().handle, plan, s.pack);
  return error == CUDNN_STATUS_SUCCESS ? status_ok()
                                       : error_status(error, "cudnnBackendExecute", "the execution plan");
}

/* Times launches of plans: the events, and a graph for each plan whose launches are short. */
class Search {
 public:
  explicit Search(State &state) : s_(state), graph_(state.plans.size(), nullptr), launches_(state.plans.size(), 1) {}
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;
  ~Search() {
    for (cudaGraphExec_t graph : graph_) {
      if (graph != nullptr) cudaGraphExecDestroy(graph);
    }
    for (cudaEvent_t event : event_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }

  /* Fills plans[].us; a plan that does not run keeps infinity. */
  struct status run();

 private:
  struct status enqueue(size_t i) {
    if (graph_[i] == nullptr) return execute(s_, s_.plans[i].plan);
    CUDA_TRY(cudaGraphLaunch(graph_[i], s_.stream));
    return status_ok();
  }
  struct status sample(size_t i);
  struct status capture(size_t i);
  struct status prepare(size_t i);

  State &s_;
  std::vector<cudaGraphExec_t> graph_;
  std::vector<int> launches_; /* of a sample */
  cudaEvent_t event_[2] = {};
};

struct status Search::sample(size_t i) {
  float ms = 0;
  CUDA_TRY(cudaEventRecord(event_[0], s_.stream));
  TRY(enqueue(i));
  CUDA_TRY(cudaEventRecord(event_[1], s_.stream));
  CUDA_TRY(cudaStreamSynchronize(s_.stream));
  CUDA_TRY(cudaEventElapsedTime(&ms, event_[0], event_[1]));
  s_.plans[i].us = std::min(s_.plans[i].us, ms * 1e3 / launches_[i]);
  return status_ok();
}

/* A plan that cannot be captured is timed with the host between its launches. */
struct status Search::capture(size_t i) {
  cudaGraph_t graph = nullptr;
  const int launches = static_cast<int>(std::clamp(kGraphUs / s_.plans[i].us, 2.0, 32.0));
  CUDA_TRY(cudaStreamBeginCapture(s_.stream, cudaStreamCaptureModeThreadLocal));
  struct status enqueued = status_ok();
  for (int k = 0; k < launches && !status_failed(&enqueued); ++k) enqueued = execute(s_, s_.plans[i].plan);
  const cudaError_t ended = cudaStreamEndCapture(s_.stream, &graph);
  const bool works =
      !status_failed(&enqueued) && ended == cudaSuccess && cudaGraphInstantiate(&graph_[i], graph, 0) == cudaSuccess;
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!works) {
    cudaGetLastError();
    graph_[i] = nullptr;
    return status_ok();
  }
  launches_[i] = launches;
  s_.plans[i].us = INFINITY; /* of one launch with host time */
  CUDA_TRY(cudaGraphLaunch(graph_[i], s_.stream));
  CUDA_TRY(cudaStreamSynchronize(s_.stream));
  return status_ok();
}

/* The first launch may load the kernel. A refusal costs the plan; a device that is lost costs all. */
struct status Search::prepare(size_t i) {
  const struct status executed = execute(s_, s_.plans[i].plan);
  CUDA_TRY(cudaStreamSynchronize(s_.stream));
  if (status_failed(&executed)) return status_ok();
  TRY(sample(i));
  return s_.plans[i].us < kGraphBelowUs ? capture(i) : status_ok();
}

/* In turns, since the clock may move. */
struct status Search::run() {
  for (cudaEvent_t &event : event_) CUDA_TRY(cudaEventCreate(&event));
  std::vector<size_t> running;
  for (size_t i = 0; i < s_.plans.size(); ++i) {
    TRY(prepare(i));
    const bool is_refused = graph_[i] == nullptr && !std::isfinite(s_.plans[i].us);
    const bool is_slow = std::isfinite(s_.plans[i].us) && s_.plans[i].us > kOnceAboveUs;
    if (!is_refused && !is_slow) running.push_back(i);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const size_t i : running) TRY(sample(i));
  }
  return status_ok();
}

/* Once for a problem: the next binding compiles the plan that was found. */
static struct status choose_plan(State *s) {
  if (!s->searches || s->count > 0) return status_ok();
  if (s->plans.size() > 1) TRY(Search(*s).run());
  size_t best = 0;
  for (size_t i = 1; i < s->plans.size(); ++i) {
    const double to_beat = best == 0 ? kFasterAtLeast * s->plans[0].us : s->plans[best].us;
    if (s->plans[i].us < to_beat) best = i;
  }
  s->plan = s->plans[best].plan;
  s->number = static_cast<uint32_t>(best + 1);
  s->count = static_cast<uint32_t>(s->plans.size());
  found_before().push_back({key_of(*s), s->plans[best].config, s->number, s->count});
  return status_ok();
}

/* ---- the hooks ----------------------------------------------------------------------------------------------- */

static void close(void *state) { delete static_cast<State *>(state); }

static struct status open(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                          void *stream, void **state, uint64_t *workspace_bytes) {
  if (missing() != nullptr) return status_make(STATUS_UNSUPPORTED, "%s", missing());
  TRY(require(*shape, *device));
  TRY(use_stream(stream));
  State *s = new (std::nothrow) State();
  if (s == nullptr) return status_make(STATUS_MEMORY, "no host memory for a cuDNN plan");
  s->shape = *shape;
  s->stream = static_cast<cudaStream_t>(stream);
  s->searches = tuning->value[0] != 0;
  struct status status = open_state(s, workspace_bytes);
  if (status_failed(&status)) {
    close(s);
    /* Nothing has run on the device yet: whatever the library says of a graph is its refusal of the problem. */
    if (status.code == STATUS_DEVICE) status.code = STATUS_UNSUPPORTED;
    return status;
  }
  *state = s;
  return status_ok();
}

static struct status copy_to_device(State *s, Numbers *n) {
  const std::vector<int32_t> narrow(n->value.begin(), n->value.end());
  const bool is_long = n->type == CUDNN_DATA_INT64;
  const void *from = is_long ? static_cast<const void *>(n->value.data()) : narrow.data();
  const size_t bytes = n->value.size() * (is_long ? sizeof(int64_t) : sizeof(int32_t));
  CUDA_TRY(cudaMalloc(&n->device, bytes));
  CUDA_TRY(cudaMemcpyAsync(n->device, from, bytes, cudaMemcpyHostToDevice, s->stream));
  CUDA_TRY(cudaStreamSynchronize(s->stream)); /* `narrow` ends here */
  return status_ok();
}

static struct status attach(void *state, const attn_buffers *buffers) {
  State *s = static_cast<State *>(state);
  for (Numbers &n : s->numbers) TRY(copy_to_device(s, &n));
  std::vector<int64_t> ids;
  std::vector<const void *> data;
  for (const Bound &bound : s->bound) {
    ids.push_back(bound.id);
    data.push_back(bound.scalar != nullptr    ? bound.scalar
                   : bound.numbers != nullptr ? bound.numbers->device
                                              : buffers->tensor[bound.role]);
  }
  Builder &b = s->builder;
  const char *what = "the variant pack";
  const int64_t count = static_cast<int64_t>(ids.size());
  s->pack = b.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, what);
  CUDNN_SET(b, s->pack, VARIANT_PACK_UNIQUE_IDS, INT64, count, ids.data(), what);
  CUDNN_SET(b, s->pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, count, data.data(), what);
  CUDNN_SET(b, s->pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &buffers->workspace, what);
  b.finalize(s->pack, what);
  return b.ok() ? choose_plan(s) : b.status;
}

static struct status enqueue(void *state) {
  const State *s = static_cast<const State *>(state);
  return execute(*s, s->plan);
}

static void choice(const void *state, uint32_t *number, uint32_t *count) {
  const State *s = static_cast<const State *>(state);
  *number = s->number;
  *count = s->count;
}

}  // namespace cudnn
}  // namespace attn

static const struct attn_vendor cudnn_vendor = {
    attn::cudnn::missing, attn::cudnn::library, attn::cudnn::open, attn::cudnn::attach,
    attn::cudnn::enqueue, attn::cudnn::close,   nullptr,           attn::cudnn::choice};

#else

static const char *cudnn_missing() {
  return "not built: this attnbench was compiled without CUDA or without cuDNN 9's headers (cudnn.h)";
}

static const struct attn_vendor cudnn_vendor = {cudnn_missing, nullptr, nullptr, nullptr,
                                                nullptr,       nullptr, nullptr, nullptr};

#endif

namespace attn {

/* Of each sequence. */
static const char *cudnn_rows(const attn_problem *shape) {
  const bool is_masked = shape->left >= 0 || shape->right >= 0;
  for (uint32_t i = 0; i < attn_group_count(shape); ++i) {
    const attn_group group = attn_group_of(shape, i);
    if (is_masked && group.Sq > group.Skv)
      return "Sq must be at most Skv under a mask: cuDNN does not define rows that attend no key";
    if (group.Sq > 0 && group.Skv == 0)
      return "a sequence with queries must have keys: cuDNN does not define rows that attend no key";
  }
  return nullptr;
}

static const char *cudnn_types(const attn_problem *shape, const device_info *device) {
  if (shape->dtype != ATTN_E4M3) return nullptr;
  if (device->cc_major < 10)
    return "e4m3 needs compute capability 10.0: before, cuDNN writes its O in 8 bits, and here O has 16";
  if (shape->scales != ATTN_SCALES_TENSOR)
    return "scales must be tensor: cuDNN takes one scale for each of Q, K and V";
  if (attn_out_dtype(shape) == ATTN_F32) return "out_dtype must be f16 or bf16: cuDNN writes O of e4m3 in 16 bits";
  return shape->D % 16 != 0 || shape->Dv % 16 != 0 ? "D and Dv must be multiples of 16 for e4m3" : nullptr;
}

static const char *cudnn_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  const char *const types = cudnn_types(shape, device), *const rows = cudnn_rows(shape);
  if (types != nullptr || rows != nullptr) return types != nullptr ? types : rows;
  if (shape->lse && attn_is_ragged(shape))
    return "lse must be left out of a ragged batch: cuDNN's LSE lies there in another order";
  if (shape->sink && shape->Sq == 1)
    return "Sq must be at least 2 with a sink: cuDNN gives NaN where the sink of a single query is far above its "
           "scores";
  return check_device(*device, 0);
}

/* Nothing is known before the library has chosen a kernel. */
static void cudnn_plan(const attn_problem *, const attn_tuning *, const device_info *, attn_plan *) {}

static const attn_tunable cudnn_tunables[] = {
    {.name = "search",
     .min = 0,
     .max = 1,
     .default_value = 1,
     .help = "1: the plans that cuDNN offers for a case are timed once, and the fastest is taken; 0: its first"},
    {.name = nullptr},
};

}  // namespace attn

extern "C" const struct attn_variant attn_variant_cudnn = {
    .name = "cudnn",
    .summary = "cuDNN 9's fused attention through its backend graph API, loaded at run time: the reference",
    .limits =
        "masks need Sq <= Skv in each sequence; e4m3 needs scales=tensor; compute capability >= 8.0, for e4m3 "
        "10.0; libcudnn.so.9, for pages 9.5; lengths and offsets are made before timing",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_PAGE | ATTN_TAKES_OUT_DTYPE | ATTN_TAKES_SCALES,
    .dtypes = ATTN_DTYPES_16_BITS | ATTN_DTYPE_BIT(ATTN_E4M3),
    .dtypes_why = "cuDNN fuses attention on tensor cores only",
    .dims = {.most = 256, .multiple = 8, .why = "what cuDNN fuses forward, in loads of 16 bytes"},
    .tunables = attn::cudnn_tunables,
    .supports = attn::cudnn_supports,
    .plan = attn::cudnn_plan,
    .bind = nullptr,
    .run = nullptr,
    .vendor = &cudnn_vendor,
};

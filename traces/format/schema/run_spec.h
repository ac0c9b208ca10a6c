// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

// The choices that describe a run. Values are serialized: append, never renumber.

/// The command that made the recording.
enum class Command : std::uint8_t { kTrain = 0, kAttend, kImport, kCount };
/// The way in which the cp ranks share attention.
enum class Strategy : std::uint8_t { kRing = 0, kAllGather, kUlysses, kHybrid, kCount };
/// The way in which the tokens of a sequence are dealt to the cp ranks.
enum class Balance : std::uint8_t {
  kNone = 0,  ///< rank r owns the r-th of cp_size equal parts
  kHeadTail,  ///< of 2·cp_size chunks, rank r owns r and 2·cp_size − 1 − r (Transformer Engine,
              ///< PyTorch)
  kStriped,      ///< rank r owns every cp_size-th token from r on (Striped Attention,
                 ///< arXiv:2311.09431)
  kPerDocument,  ///< head_tail within each document (PyTorch's per-document balancer)
  kPtrr,         ///< blocks, dealt in rounds by the key blocks that each attends (PyTorch's
                 ///< processing-time round-robin balancer)
  kCount
};
/// The way in which KV blocks travel round the ring.
enum class Rotate : std::uint8_t {
  kP2p = 0,    ///< to the next rank, while the held block is attended
  kAllGather,  ///< all blocks to all ranks at the first ring step (PyTorch's default)
  kAllToAll,   ///< one hop by an all-to-all in which only one part is not empty (PyTorch)
  kCount
};
/// The order in which backward visits the blocks.
enum class Order : std::uint8_t {
  kDiagonalFirst = 0,  ///< own block first; dK and dV need a last hop home (PyTorch)
  kDiagonalLast,       ///< own block last, against the direction of forward; dK and dV end at home
                       ///< (Transformer Engine)
  kCount
};
/// The keys that a query may attend.
enum class MaskKind : std::uint8_t { kFull = 0, kCausal, kWindow, kDocuments, kCount };
/// The transport of messages.
enum class TransportKind : std::uint8_t { kLocal = 0, kGloo, kNccl, kCount };
/// The operator that attends a block.
enum class Kernel : std::uint8_t {
  kAuto = 0,   ///< the device's flash operator; plain matrix products where that is unsupported
  kFlash,      ///< FlashAttention (ATen's, for the processor and for CUDA)
  kEfficient,  ///< the memory-efficient operator (ATen's, CUDA only)
  kMath,       ///< plain matrix products
  kCount
};
/// The way in which the send and the receive of a hop are posted.
enum class PointToPoint : std::uint8_t {
  kBatched = 0,  ///< both at once, as one group (batch_isend_irecv)
  kOrdered,      ///< one after the other: even ranks send first, odd ranks receive first
  kCount
};
/// The form of a rank: a thread, a process, or a process of an external launcher.
enum class Launch : std::uint8_t { kThreads = 0, kProcesses, kEnv, kCount };
/// The device that holds the tensors.
enum class Device : std::uint8_t { kCpu = 0, kCuda, kCount };

template <>
struct EnumNames<Command> {
  static constexpr const char* kWhat = "command";
  static constexpr std::array<const char*, 3> kNames = {"train", "attend", "import"};
};
template <>
struct EnumNames<Strategy> {
  static constexpr const char* kWhat = "strategy";
  static constexpr std::array<const char*, 4> kNames = {"ring", "all_gather", "ulysses", "hybrid"};
};
template <>
struct EnumNames<Balance> {
  static constexpr const char* kWhat = "balance";
  static constexpr std::array<const char*, 5> kNames = {"none", "head_tail", "striped",
                                                        "per_document", "ptrr"};
};
template <>
struct EnumNames<Rotate> {
  static constexpr const char* kWhat = "rotate";
  static constexpr std::array<const char*, 3> kNames = {"p2p", "allgather", "alltoall"};
};
template <>
struct EnumNames<Order> {
  static constexpr const char* kWhat = "order";
  static constexpr std::array<const char*, 2> kNames = {"diagonal_first", "diagonal_last"};
};
template <>
struct EnumNames<MaskKind> {
  static constexpr const char* kWhat = "mask";
  static constexpr std::array<const char*, 4> kNames = {"full", "causal", "window", "documents"};
};
template <>
struct EnumNames<Kernel> {
  static constexpr const char* kWhat = "kernel";
  static constexpr std::array<const char*, 4> kNames = {"auto", "flash", "efficient", "math"};
};
template <>
struct EnumNames<PointToPoint> {
  static constexpr const char* kWhat = "way to post a hop";
  static constexpr std::array<const char*, 2> kNames = {"batched", "ordered"};
};
template <>
struct EnumNames<TransportKind> {
  static constexpr const char* kWhat = "transport";
  static constexpr std::array<const char*, 3> kNames = {"local", "gloo", "nccl"};
};
template <>
struct EnumNames<Launch> {
  static constexpr const char* kWhat = "launch";
  static constexpr std::array<const char*, 3> kNames = {"threads", "processes", "env"};
};
template <>
struct EnumNames<Device> {
  static constexpr const char* kWhat = "device";
  static constexpr std::array<const char*, 2> kNames = {"cpu", "cuda"};
};

/// The sizes of the trained model: of the whole model, not of a tp rank's part.
struct ModelShape {
  std::string name = "sample";
  std::int64_t layers = 0, hidden_size = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab_size = 0;

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// A buffer that a run cuts along the sequence for the duration of a training step.
struct BufferChoice {
  std::string name;
  std::int32_t seq_dim = 1;
  bool restore = false;  ///< whole again after the step (else one of PyTorch's no_restore_buffers)

  friend bool operator==(const BufferChoice&, const BufferChoice&) = default;
};

/// One run as the command line and the window's form request it, as the engine carries it out, and
/// as the trace keeps it. Injected mistakes are not part of it, because they are sealed.
struct RunSpec {
  Command command = Command::kTrain;
  std::int32_t dp = 1, tp = 1, cp = 4;
  Strategy strategy = Strategy::kRing;
  std::int32_t ulysses = 0;  ///< hybrid: number of ranks that share heads; 0: chosen automatically
  Rotate rotate = Rotate::kP2p;
  Order order = Order::kDiagonalFirst;
  bool fp8 = false;  ///< KV is sent as e4m3, and q is rounded to e4m3
  Kernel kernel = Kernel::kAuto;
  PointToPoint p2p = PointToPoint::kBatched;
  std::optional<Balance> balance;  ///< nullopt: head_tail when the mask is causal
  MaskKind mask = MaskKind::kCausal;
  std::int64_t window = 0;  ///< keys that a query sees to its left, its own included; 0: all
  DType dtype = DType::kFloat32;
  TransportKind transport = TransportKind::kLocal;
  Launch launch = Launch::kThreads;
  Device device = Device::kCpu;
  std::int64_t seq_len = 256;
  std::int64_t batch = 1;  ///< number of sequences of all dp ranks together
  std::int32_t steps = 10;
  bool recompute = false;  ///< activations are computed again in backward
  bool sinks = false;      ///< one logit per query head that takes its share of every row's softmax
  double dropout = 0;
  std::uint64_t seed = 0;
  double lr = 1e-3, weight_decay = 0.01, max_norm = 1.0;
  std::vector<BufferChoice> buffers;  ///< empty: input_ids, labels and position_ids along dimension
                                      ///< 1
  std::string capture = "values:steps=0";
  bool verify = false;
  std::string model_dir;          ///< folder of a Hugging Face Llama; empty: the small sample model
  std::vector<std::string> text;  ///< text files; an alternative to `tokens`
  std::string tokens;             ///< a safetensors file
  std::string tokenizer;          ///< a SentencePiece model; empty: that of the model folder, else
                                  ///< bytes are tokens
  std::string separator;          ///< separates documents in a text file; empty: each file is one
                                  ///< document
  ModelShape model;
  std::int32_t cores = 0;  ///< CPU cores of the machine that ran it

  /// Returns the number of ranks of the whole run.
  std::int32_t worldSize() const { return dp * tp * cp; }
  friend bool operator==(const RunSpec&, const RunSpec&) = default;
};

template <>
struct Fields<ModelShape> {
  static void visit(auto&& field, auto& m) {
    field("name", m.name);
    field("layers", m.layers);
    field("hidden_size", m.hidden_size);
    field("heads", m.heads);
    field("kv_heads", m.kv_heads);
    field("head_dim", m.head_dim);
    field("vocab_size", m.vocab_size);
  }
};

template <>
struct Fields<BufferChoice> {
  static void visit(auto&& field, auto& b) {
    field("name", b.name);
    field("seq_dim", b.seq_dim);
    field("restore", b.restore);
  }
};

template <>
struct Fields<RunSpec> {
  static void visit(auto&& field, auto& r) {
    field("command", r.command);
    field("dp", r.dp);
    field("tp", r.tp);
    field("cp", r.cp);
    field("strategy", r.strategy);
    field("ulysses", r.ulysses);
    field("rotate", r.rotate);
    field("order", r.order);
    field("fp8", r.fp8);
    field("kernel", r.kernel);
    field("p2p", r.p2p);
    field("balance", r.balance);
    field("mask", r.mask);
    field("window", r.window);
    field("dtype", r.dtype);
    field("transport", r.transport);
    field("launch", r.launch);
    field("device", r.device);
    field("seq_len", r.seq_len);
    field("batch", r.batch);
    field("steps", r.steps);
    field("recompute", r.recompute);
    field("sinks", r.sinks);
    field("dropout", r.dropout);
    field("seed", r.seed);
    field("lr", r.lr);
    field("weight_decay", r.weight_decay);
    field("max_norm", r.max_norm);
    field("buffers", r.buffers);
    field("capture", r.capture);
    field("verify", r.verify);
    field("model_dir", r.model_dir);
    field("text", r.text);
    field("tokens", r.tokens);
    field("tokenizer", r.tokenizer);
    field("separator", r.separator);
    field("model", r.model);
    field("cores", r.cores);
  }
};

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "engine/launch/rank_threads.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/AutogradState.h>
#include <c10/util/Flags.h>
#include <c10/util/Logging.h>
#include <malloc.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "engine/gpu/device_queue.h"
#include "engine/gpu/gpu.h"
#include "engine/progress/progress_board.h"
#include "engine/progress/stall_watch.h"
#include "engine/tensors/vector_maths.h"
#include "traces/format/core/error.h"
#include "traces/format/core/mutex.h"
#include "traces/format/core/sentence_of.h"

C10_DECLARE_bool(caffe2_use_fatal_for_enforce);

namespace ringscope::engine {
namespace {

/// The first failure of a run; later failures are its consequences.
class FirstFailure {
 public:
  void set(WorldRank rank, const traces::Place& place, const std::string& reason) {
    setSentence("rank " + toString(rank) + " failed at " + traces::describe(place) + ": " + reason);
  }
  void setSentence(const std::string& sentence) {
    const traces::MutexLock lock(mutex_);
    if (sentence_.empty()) sentence_ = sentence;
  }
  std::string sentence() const {
    const traces::MutexLock lock(mutex_);
    return sentence_;
  }

 private:
  mutable traces::Mutex mutex_;
  std::string sentence_ RINGSCOPE_GUARDED_BY(mutex_);
};

/// Keeps freed tensors in the process. By default glibc returns every large tensor to the kernel,
/// and each ring step then pays for fresh pages (4 % of a step at 4,096 tokens).
void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/// Silences LibTorch's warnings about tensors that are older than the memory tracker, which do not
/// help a user.
void silenceLibraryWarnings() {
  constexpr int kErrorsOnly = 2;  // the levels of glog
  FLAGS_caffe2_log_level = kErrorsOnly;
  FLAGS_caffe2_use_fatal_for_enforce = false;  // a failed allocation throws instead of aborting
}

/// The message timeout while ranks are watched. Waiting for a long block is then no failure, and
/// stuck ranks are found by their own progress reports.
constexpr auto kWatched = std::chrono::hours(24);

int threadsPerRank(int ranks) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / ranks);
}

/// The numbers of a rank.
struct RankNames {
  WorldRank world;
  GroupRank local;    ///< among the ranks of its host
  GroupRank at_gate;  ///< among the ranks that pass this process's gate
};

/// Runs one rank from its first message to its last.
void runRank(const RankThreadOptions& options, Transport& transport, Gate& gate,
             const RankNames& rank, int threads, FirstFailure& failure,
             const std::function<void(RankContext&)>& body) {
  traces::Place place;
  auto fail = [&](const std::string& reason) {
    failure.set(rank.world, place, reason);
    gate.stop();
    transport.abort(failure.sentence());
  };
  try {
    at::set_num_threads(threads);
    // With multithreading, backward of CUDA tensors runs on one thread per GPU that all ranks
    // share. A tensor-parallel collective on that thread would wait forever for a rank whose
    // backward cannot start.
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    std::optional<MemoryTracker::Attachment> attachment;
    if (options.memory) attachment.emplace(options.memory, rank.world);
    if (options.device == traces::Device::kCuda)
      gpu::useOwnStream(gpuOfRank(options.transport, rank.local));
    MeshGroups groups(transport, options.mesh, rank.world);
    Observer observer(
        rank.world, options.recorder, options.capture, options.memory, options.live,
        options.switches ? &options.switches->capture() : nullptr,
        options.recorder && options.device == traces::Device::kCuda ? gpu::timedStream() : nullptr);
    RankContext context{groups,
                        groups.cp(),
                        observer,
                        gate,
                        {},
                        options.at_gate,
                        rank.at_gate,
                        options.switches,
                        options.device == traces::Device::kCuda
                            ? at::Device(at::kCUDA, gpuOfRank(options.transport, rank.local))
                            : at::Device(at::kCPU),
                        {}};
    groups.onCollective([&](traces::GroupId group, const CollectiveReport& report) {
      observer.collective(group, report, context.place);
    });
    try {
      body(context);
    } catch (const StopRequested&) {
      // Every rank stops at the same gate, so no rank is left waiting.
    } catch (...) {
      place = context.place;
      reportFailure();
      throw;
    }
  } catch (const c10::Error& error) {
    fail(error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail(traces::toSentence(error));
  }
  gate.leave(rank.at_gate);
}

/// A watch for stuck rank threads. It ends the other ranks when it finds one.
class ThreadWatch {
 public:
  ThreadWatch(const RankThreadOptions& options, std::function<void(const std::string&)> end_others)
      : board_(options.mesh.worldSize()),
        options_(options),
        end_others_(std::move(end_others)),
        running_(static_cast<std::size_t>(options.mesh.worldSize())),
        stalls_(board_, options.mesh.worldSize(), options.timeout,
                [this](WorldRank rank) { return runs(rank) ? "rank " + toString(rank) : ""; }) {
    for (auto& running : running_) running = true;
    watcher_ = std::thread([this] { loop(); });
  }
  ~ThreadWatch() {
    {
      const traces::MutexLock lock(mutex_);
      done_ = true;
    }
    ended_.notifyAll();
    watcher_.join();
  }
  ProgressSlot& slot(WorldRank rank) const { return board_.slot(rank); }
  void ended(WorldRank rank) { running_[rank.index()] = false; }

 private:
  bool runs(WorldRank rank) const { return running_[rank.index()]; }
  bool anyRuns() const {
    return std::any_of(running_.begin(), running_.end(), [](const auto& r) { return r.load(); });
  }
  /// Returns whether the ranks ended within `longest`, so that a short run does not wait for its
  /// watch.
  bool endWithin(std::chrono::milliseconds longest) {
    traces::MutexLock lock(mutex_);
    return ended_.waitFor(lock, longest, [&]() RINGSCOPE_REQUIRES(mutex_) { return done_; });
  }
  void loop() {
    constexpr auto kEvery = std::chrono::milliseconds(100), kGrace = std::chrono::milliseconds(900);
    std::string sentence;
    while (sentence.empty()) {
      if (endWithin(kEvery)) return;
      sentence = stalls_.stuck();
    }
    end_others_(sentence);
    if (!endWithin(kGrace) && anyRuns() && options_.on_stuck) options_.on_stuck(sentence);
  }

  ProgressBoard board_;
  const RankThreadOptions& options_;
  std::function<void(const std::string&)> end_others_;
  std::vector<std::atomic<bool>> running_;
  StallWatch stalls_;
  traces::Mutex mutex_;
  traces::Condition ended_;
  bool done_ RINGSCOPE_GUARDED_BY(mutex_) = false;  ///< all rank threads were joined
  std::thread watcher_;
};

}  // namespace

bool runRankThreads(const RankThreadOptions& options, Gate& gate,
                    const std::function<void(RankContext&)>& body) {
  keepFreedMemory();
  silenceLibraryWarnings();
  settleVectorMaths();
  checkTransport(options.transport, options.device, options.mesh.worldSize());
  const auto transport = threadTransport(options.transport, kWatched);
  FirstFailure failure;
  const int caller_threads = at::get_num_threads();
  const int ranks = options.mesh.worldSize();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  const auto end_others = [&](const std::string& sentence) {
    failure.setSentence(sentence);
    gate.stop();
    transport->abort(sentence);
  };
  {
    ThreadWatch watch(options, end_others);
    // A rank that cannot start, for instance because no thread can be created, ends the others.
    const auto unless_refused = [&](WorldRank rank, const auto& begin) {
      try {
        begin();
      } catch (const std::exception& error) {
        end_others("rank " + toString(rank) + " could not begin: " + traces::toSentence(error));
        gate.leave(GroupRank::of(rank.value()));
        watch.ended(rank);
      }
    };
    const auto run_one = [&](WorldRank rank) {
      const ProgressReport report(watch.slot(rank));
      const GroupRank here = GroupRank::of(rank.value());  // all ranks are of one host and one
                                                           // process
      runRank(options, *transport, gate, {rank, here, here}, threadsPerRank(ranks), failure, body);
      watch.ended(rank);
    };
    for (const WorldRank rank : options.mesh.ranks())
      unless_refused(rank, [&, rank] {
        threads.emplace_back([&, rank] { unless_refused(rank, [&] { run_one(rank); }); });
      });
    for (auto& thread : threads) thread.join();
  }
  at::set_num_threads(caller_threads);
  if (const std::string sentence = failure.sentence(); !sentence.empty()) throw runFailed(sentence);
  return gate.stopRequested();
}

bool runRankProcess(const RankThreadOptions& options, const RankEnvironment& here, Gate& gate,
                    const std::function<void(RankContext&)>& body) {
  ::prctl(PR_SET_NAME, ("ringscope-r" + toString(here.rank)).c_str());
  keepFreedMemory();
  silenceLibraryWarnings();
  settleVectorMaths();
  checkTransport(options.transport, options.device, 1);
  const ProgressReport report(here.rank);
  const auto transport = processTransport(options.transport, here, options.timeout,
                                          report.isRead() ? kWatched : options.timeout);
  FirstFailure failure;
  const GroupRank at_gate = GroupRank::of(gate.isShared() ? here.rank.value() : 0);
  runRank(options, *transport, gate, {here.rank, here.local_rank, at_gate},
          threadsPerRank(options.mesh.worldSize()), failure, body);
  if (const std::string sentence = failure.sentence(); !sentence.empty()) throw runFailed(sentence);
  return gate.stopRequested();
}

}  // namespace ringscope::engine

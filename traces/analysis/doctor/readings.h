// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "traces/format/core/mutex.h"

namespace ringscope::traces {

class Trace;
struct BlockReading;
struct CoverageReading;
struct GradientScale;
struct LabelReading;
struct LayerCheck;
struct LoggedLoss;
struct MergeReading;
struct TargetScale;
struct TargetWeights;

/// A value that is made once, by the thread that needs it first. Other threads wait meanwhile. When
/// `make` throws, the caller gets the error, and the next call tries again. Thread-safe.
template <typename T>
class MadeOnce {
 public:
  const T& get(const std::function<T()>& make) const RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!value_) value_ = std::make_shared<const T>(make());
    return *value_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::shared_ptr<const T> value_ RINGSCOPE_GUARDED_BY(mutex_);
};

/// The readings of one trace on which several rules rest. Each one is made when it is needed first.
/// Any thread may use them. The trace must outlive this object and must not change meanwhile. A
/// reading throws what the function of the same name throws.
class Readings {
 public:
  explicit Readings(const Trace& trace) : trace_(trace) {}
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;

  const Trace& trace() const { return trace_; }
  const BlockReading& blocks() const;                     ///< readBlocks()
  const CoverageReading& coverage() const;                ///< readCoverage()
  const GradientScale& gradientScale() const;             ///< readGradientScale()
  const LabelReading& labels() const;                     ///< readLabels()
  const LoggedLoss& loggedLoss() const;                   ///< readLoggedLoss()
  const MergeReading& merges() const;                     ///< readMerges()
  const TargetScale& targetScale() const;                 ///< readTargetScale()
  const TargetWeights& targetWeights() const;             ///< readTargetWeights()
  const std::vector<LayerCheck>& computedLayers() const;  ///< recomputeLayers()
  /// Returns the same for a job of another program, and nothing for a run of the engine, whose
  /// rules judge the recorded stages.
  const std::vector<LayerCheck>& layers() const;

 private:
  const Trace& trace_;
  MadeOnce<BlockReading> blocks_;
  MadeOnce<CoverageReading> coverage_;
  MadeOnce<GradientScale> gradient_scale_;
  MadeOnce<LabelReading> labels_;
  MadeOnce<LoggedLoss> logged_loss_;
  MadeOnce<MergeReading> merges_;
  MadeOnce<TargetScale> target_scale_;
  MadeOnce<TargetWeights> target_weights_;
  MadeOnce<std::vector<LayerCheck>> computed_layers_;
};

}  // namespace ringscope::traces

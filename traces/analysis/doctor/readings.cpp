// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/readings.h"

#include "traces/analysis/doctor/block_reading.h"
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/analysis/doctor/label_reading.h"
#include "traces/analysis/doctor/logged_loss.h"
#include "traces/analysis/doctor/merge_reading.h"
#include "traces/analysis/doctor/recomputed_finding.h"
#include "traces/analysis/doctor/target_scale.h"
#include "traces/analysis/doctor/target_weights.h"
#include "traces/analysis/verify/trace_check.h"

namespace ringscope::traces {

const BlockReading& Readings::blocks() const {
  return blocks_.get([this] { return readBlocks(trace_); });
}

const CoverageReading& Readings::coverage() const {
  return coverage_.get([this] { return readCoverage(trace_); });
}

const GradientScale& Readings::gradientScale() const {
  return gradient_scale_.get([this] { return readGradientScale(trace_); });
}

const LabelReading& Readings::labels() const {
  return labels_.get([this] { return readLabels(trace_); });
}

const LoggedLoss& Readings::loggedLoss() const {
  return logged_loss_.get([this] { return readLoggedLoss(trace_); });
}

const MergeReading& Readings::merges() const {
  return merges_.get([this] { return readMerges(trace_); });
}

const TargetScale& Readings::targetScale() const {
  return target_scale_.get([this] { return readTargetScale(trace_); });
}

const TargetWeights& Readings::targetWeights() const {
  return target_weights_.get([this] { return readTargetWeights(trace_); });
}

const std::vector<LayerCheck>& Readings::computedLayers() const {
  return computed_layers_.get([this] { return recomputeLayers(trace_); });
}

const std::vector<LayerCheck>& Readings::layers() const {
  static const std::vector<LayerCheck> kNone;
  const bool is_job = trace_.run() && trace_.run()->command == Command::kImport;
  return is_job ? computedLayers() : kNone;
}

}  // namespace ringscope::traces

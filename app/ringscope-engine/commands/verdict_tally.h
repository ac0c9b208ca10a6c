// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/verify/error_measure.h"

namespace ringscope::app {

/// One result of a correct run, and the references and limits that judge its rows.
struct JudgedTensor {
  std::string name;
  std::int64_t length;                  ///< tokens of the run
  at::Tensor actual;                    ///< what the run computed
  std::vector<engine::HeldTo> held_to;  ///< references and limits, as `diff` uses them
  at::Tensor of_device;                 ///< the largest error of each row over runs of one device
};

/// Rows as a mistake might make them.
struct Alteration {
  const char* name;
  at::Tensor rows;
};

/// The counts of one type's verdicts.
class VerdictTally {
 public:
  void countRun(double worst_ratio);
  /// Counts altered rows that differ by more than four times one device's largest error in that
  /// row, and those of them that the verdict misses.
  void countAltered(const JudgedTensor& judged, const std::vector<Alteration>& alterations);
  nlohmann::json toJson() const;

 private:
  struct Altered {
    std::int64_t rows = 0, unseen = 0;
  };
  std::int64_t runs_ = 0, accused_ = 0;
  Altered all_;
  std::map<std::int64_t, Altered> by_length_;
  std::map<std::string, Altered> by_tensor_;
  std::map<std::string, std::int64_t> unseen_by_;  ///< missed rows by tensor and alteration
  double largest_ratio_ = 0;
  /// For each tensor, the median over rows of limit ÷ largest error of one device, one value per
  /// run.
  std::map<std::string, std::vector<double>> tightness_;
};

}  // namespace ringscope::app

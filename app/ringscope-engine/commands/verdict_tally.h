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

/// One result of a right run, and by what its rows are judged.
struct JudgedTensor {
  std::string name;
  std::int64_t length;                  ///< tokens of the run
  at::Tensor actual;                    ///< what the run computed
  std::vector<engine::HeldTo> held_to;  ///< as `diff` does
  at::Tensor of_device;                 ///< the largest error of each row over runs of one device
};

/// Rows as a mistake might leave them.
struct Alteration {
  const char* name;
  at::Tensor rows;
};

/// What one type's verdicts did.
class VerdictTally {
 public:
  void countRun(double worst_ratio);
  /// Alterations count that exceed four times what one device is off by in that row.
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
  std::map<std::string, std::int64_t> unseen_by_;  ///< tensor and alteration
  double largest_ratio_ = 0;
  /// Medians over rows of limit ÷ largest error of one device, by tensor.
  std::map<std::string, std::vector<double>> tightness_;
};

}  // namespace ringscope::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace ringscope::engine {

/// The kinds of rotary scaling (transformers, modeling_rope_utils.py).
enum class RopeKind {
  kLinear,  ///< all wavelengths are stretched by `factor`
  kLlama3,  ///< long wavelengths are stretched, short ones stay, those in between are blended
  kYarn,    ///< the same by another ramp, and cos and sin are multiplied by a factor
  kDynamic  ///< the base grows with sequences longer than those of pretraining
};

/// A scaling of rotary frequencies, with Hugging Face's names.
struct RopeScaling {
  RopeKind kind = RopeKind::kLlama3;
  double factor = 1;
  double original_max_position_embeddings = 8192;    ///< not of kLinear and kDynamic
  double low_freq_factor = 1, high_freq_factor = 4;  ///< of kLlama3
  double beta_fast = 32, beta_slow = 1;              ///< of kYarn
  double attention_factor = 1;                       ///< of kYarn: of cos and sin
  bool truncate = true;                              ///< of kYarn: the ends of the ramp
  double max_position_embeddings = 2048;             ///< of kDynamic
  std::int64_t sequence_length = 0;  ///< of kDynamic: tokens of a whole sequence; set by the run
};

/// Reads a scaling of the given rope_type. `j` also has max_position_embeddings of the model.
/// Throws inputError that names a missing number or an unsupported type.
RopeScaling readRopeScaling(const std::string& type, const nlohmann::json& j,
                            const std::string& source);
/// Returns the scaling as the contents of rope_parameters, without rope_theta.
nlohmann::json writeRopeScaling(const RopeScaling& scaling);

}  // namespace ringscope::engine

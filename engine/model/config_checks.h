// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/format/core/error.h"

namespace ringscope::engine {

/// Throws inputError "SOURCE: WHAT" unless a configuration is fine.
inline void refuseUnless(bool fine, const std::string& source, const std::string& what) {
  if (!fine) throw inputError(source + ": " + what);
}

/// Throws inputError that names every part of the configured model that would change results and
/// cannot be computed: a mixture of experts, latent attention, or recurrent layers.
void refuseUnsupportedParts(const nlohmann::json& config, const std::string& source);

}  // namespace ringscope::engine

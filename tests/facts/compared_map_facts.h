// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// Every row of the map of |A − B| of a layer's tensor, of which both kept values, and the folds of
/// it that a picture shows.
void expectMap(const Case& run, const Case& other, const traces::Place& place,
               const std::string& tensor);

}  // namespace ringscope::facts

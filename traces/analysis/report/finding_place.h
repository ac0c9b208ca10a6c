// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns the name of the view that shows a finding: the one that the catalogue names, the
/// timeline for a hang, and the diff for a difference without a name.
std::string viewFor(const Finding& finding);

/// Returns the ring step at which a view shows the finding. A finding without a layer or a ring
/// step is shown at the first one.
Place placeFor(const Finding& finding);

/// Formats a place as the options --at, --from and --until take it: "0,1,forward,2".
std::string positionText(const Place& place);
/// Parses "STEP,LAYER,forward|backward,RINGSTEP". Throws usageError that names `option`.
Place parsePosition(const std::string& text, const std::string& option);

/// Describes a finding in one line: "missing_position_ids · certain · step 0 › forward · rank 2".
std::string describeWhere(const Finding& finding);

}  // namespace ringscope::traces

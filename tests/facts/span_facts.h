// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"
#include "viz/maths/span_tree.h"

namespace ringscope::facts {

/// The title and every row that is said of an event, and no other row.
void expectDetails(const traces::Event& event);
/// The words on its bar.
void expectLabel(const viz::Span& span, std::int64_t bytes);

}  // namespace ringscope::facts

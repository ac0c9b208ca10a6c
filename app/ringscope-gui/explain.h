// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace ringscope::app {

/// Writes the explanation of a mistake as one page of PDF. With a trace in which the doctor finds
/// the mistake the page has a picture of it; where it does not, it is said on the standard error.
/// Returns the exit code; throws Error.
int explain(const QString& id, const QString& trace, const QString& output);

}  // namespace ringscope::app

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace ringscope::app {

/// Writes the explanation of a mistake as a one-page PDF. If the doctor finds the mistake in
/// `trace`, the page has a picture of it; if not, a note on stderr says so. Returns the exit code;
/// throws Error.
int explain(const QString& id, const QString& trace, const QString& output);

}  // namespace ringscope::app

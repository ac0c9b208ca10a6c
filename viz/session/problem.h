// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <exception>

namespace ringscope::viz {

/// One sentence for people of whatever was thrown.
QString describeProblem(const std::exception_ptr& thrown);

}  // namespace ringscope::viz

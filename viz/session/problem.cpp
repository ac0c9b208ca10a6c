// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/problem.h"

#include <new>

#include "traces/format/core/error.h"

namespace ringscope::viz {

QString describeProblem(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  } catch (const std::bad_alloc&) {
    return "there is not enough memory for this";
  } catch (const std::exception& error) {
    return QString("this cannot be shown: %1").arg(QString::fromUtf8(error.what()));
  } catch (...) {
    return "this cannot be shown";
  }
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>

#include "tests/support/files.h"

namespace ringscope::viz {

/// The folders in which the windows of a test keep their runs and digests. They are set before a
/// window exists.
class OwnRuns {
 protected:
  OwnRuns() {
    qputenv("XDG_DATA_HOME", data_.file("data").c_str());
    qputenv("XDG_CACHE_HOME", data_.file("cache").c_str());
  }
  ~OwnRuns() {
    qputenv("XDG_DATA_HOME", data_before_);
    qputenv("XDG_CACHE_HOME", cache_before_);
  }

 private:
  QByteArray data_before_ = qgetenv("XDG_DATA_HOME"), cache_before_ = qgetenv("XDG_CACHE_HOME");
  test::TempDir data_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/stage.h"

#include "traces/format/core/error.h"

namespace ringscope::viz {

Stage::Stage(Viewing& viewing, QWidget* parent) : QStackedWidget(parent) {
  for (const ViewEntry& entry : viewRegistry()) {
    views_ << entry.make(viewing, this);
    addWidget(views_.last());
  }
}

QString Stage::shown() const {
  return viewRegistry()[static_cast<std::size_t>(currentIndex())].name;
}

void Stage::show(const QString& name) {
  QStringList known;
  for (const ViewEntry& entry : viewRegistry()) {
    if (entry.name == name) return setCurrentIndex(static_cast<int>(known.size()));
    known << entry.name;
  }
  throw usageError(("there is no view '" + name + "'; use " + known.join(", ")).toStdString());
}

QKeySequence viewKey(std::size_t index) {
  constexpr std::size_t kDigits = 10, kMost = 19;
  if (index >= kMost) return {};
  const auto digit = static_cast<Qt::Key>(Qt::Key_0 + (index + 1) % kDigits);
  if (index < kDigits) return QKeySequence(Qt::CTRL | digit);
  return QKeySequence(Qt::CTRL | Qt::SHIFT |
                      static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(index - kDigits)));
}

}  // namespace ringscope::viz

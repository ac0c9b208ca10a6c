// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ringscope-gui/display.h"

#include <QString>
#include <QtGlobal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

constexpr const char* kWithout =
    ". Without a display, --screenshot OUT.png draws a picture, and the `ringscope` commands work.";

struct Held {
  QtMsgType type;
  std::string category, words;
};

std::vector<Held>& held() {
  static std::vector<Held> messages;
  return messages;
}

std::string setting(const char* name) {
  return traces::toPlainText(qgetenv(name).toStdString(), 200);
}

bool wasSaid(const char* words) {
  for (const Held& message : held())
    if (message.words.find(words) != std::string::npos) return true;
  return false;
}

/// Returns why there is no display to draw on, and what to do.
std::string whyNoDisplay() {
  std::string displays;
  for (const char* name : {"WAYLAND_DISPLAY", "DISPLAY"})
    if (const std::string value = setting(name); !value.empty())
      displays += (displays.empty() ? "" : ", ") + std::string(name) + "=" + value;
  const std::string platform = setting("QT_QPA_PLATFORM");
  const bool refused = wasSaid("could not connect to display");
  if (displays.empty() && (refused || platform.empty()))
    return std::string("there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set. Start ") +
           "ringscope-gui from your desktop's terminal" + kWithout;
  if (refused)
    return "the display (" + displays + ") cannot be opened. Start its server or set another one" +
           kWithout;
  return "Qt cannot load its platform plugin" +
         (platform.empty() ? "" : " (QT_QPA_PLATFORM=" + platform + ")") +
         ". Install Qt's platform plugins or unset QT_QPA_PLATFORM" + kWithout;
}

void hold(QtMsgType type, const QMessageLogContext& context, const QString& words) {
  if (type != QtFatalMsg)
    return held().push_back({type, context.category ? context.category : "", words.toStdString()});
  std::cerr << "ringscope-gui: " << whyNoDisplay() << std::endl;
  std::_Exit(2);
}

}  // namespace

DisplayWatch::DisplayWatch() {
  qInstallMessageHandler(hold);
}

DisplayWatch::~DisplayWatch() {
  qInstallMessageHandler(nullptr);
  for (const Held& message : std::exchange(held(), {}))
    qt_message_output(message.type,
                      QMessageLogContext(nullptr, 0, nullptr, message.category.c_str()),
                      QString::fromStdString(message.words));
}

}  // namespace ringscope::app

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/style/motion.h"

#include <QFile>
#include <QSettings>
#include <QStandardPaths>

namespace ringscope::viz {
namespace {

/// A key of one of the desktop's own INI files, or an empty value.
QVariant desktopSetting(const QString& file, const QString& key) {
  const QString path =
      QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/" + file;
  return QFile::exists(path) ? QSettings(path, QSettings::IniFormat).value(key) : QVariant();
}

}  // namespace

bool desktopReducesMotion() {
  if (qEnvironmentVariableIsSet("RINGSCOPE_REDUCED_MOTION"))
    return qEnvironmentVariableIntValue("RINGSCOPE_REDUCED_MOTION") != 0;
  for (const char* file : {"gtk-3.0/settings.ini", "gtk-4.0/settings.ini"}) {
    const QVariant animations = desktopSetting(file, "Settings/gtk-enable-animations");
    if (animations.isValid() && (animations == "0" || animations == "false")) return true;
  }
  const QVariant factor = desktopSetting("kdeglobals", "KDE/AnimationDurationFactor");
  return factor.isValid() && factor.toDouble() == 0;
}

}  // namespace ringscope::viz

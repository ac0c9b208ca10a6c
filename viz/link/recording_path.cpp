// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/recording_path.h"

#include <QDir>
#include <QFileInfo>
#include <optional>

#include "traces/exchange/remote/remote_address.h"
#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

/// Returns nothing for a path of this machine and for a malformed address.
std::optional<traces::RemoteAddress> addressFrom(const QString& path) {
  if (!isOnOtherMachine(path)) return {};
  try {
    return traces::parseRemoteAddress(path.toStdString());
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

bool isOnOtherMachine(const QString& path) {
  return traces::isRemoteAddress(path.toStdString());
}

QString recordingName(const QString& path) {
  const auto address = addressFrom(path);
  if (!address) return QFileInfo(path).fileName();
  return QFileInfo(QString::fromStdString(address->path)).fileName() + " on " +
         QString::fromStdString(address->shell.machine);
}

QString notesBeside(const QString& recording) {
  if (isOnOtherMachine(recording)) return {};
  return recording + (QFileInfo(recording).isDir() ? "/.ringscope.notes" : ".notes");
}

QString proposedOutput(const QString& recording, const QString& extension) {
  const auto address = addressFrom(recording);
  const QFileInfo from(address ? QString::fromStdString(address->path) : recording);
  const QString folder = address ? QDir::homePath() : from.path();
  return folder + "/" + from.completeBaseName() + "." + extension;
}

}  // namespace ringscope::viz

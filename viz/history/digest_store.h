// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QObject>
#include <QSet>
#include <QStringList>
#include <memory>

#include "viz/history/recording_digest.h"
#include "viz/session/background.h"

namespace ringscope::viz {

/// The digests of recordings. Each is made once, on a thread, and kept in the cache folder until
/// the recording changes. GUI thread only.
class DigestStore : public QObject {
  Q_OBJECT
 public:
  /// Larger recordings are judged when the user opens them.
  static constexpr std::int64_t kMostJudged = std::int64_t{128} << 20;

  /// `folder` keeps the digests; it need not exist yet.
  explicit DigestStore(QString folder, QObject* parent = nullptr);

  /// Returns the digest of a recording; null while it is being made. The first call for a
  /// recording, or for one that has changed, requests the digest.
  std::shared_ptr<const RecordingDigest> digest(const QString& path);
  /// Keeps the verdict about a recording that the user has opened.
  void setVerdict(const QString& path, const ShortVerdict& verdict);
  bool isBusy() const { return background_.busy() || !queue_.isEmpty(); }

 Q_SIGNALS:
  /// The digest of a recording can be shown.
  void made(const QString& path);

 private:
  struct Kept {
    QString stamp;  ///< of the file or folder that was read
    std::shared_ptr<const RecordingDigest> digest;
  };
  struct Made;
  void makeNext();
  void take(const QString& path, const QString& stamp, const Made& made);
  void save(const QString& path, const QString& stamp, const RecordingDigest& digest);
  QString cacheFile(const QString& path, const QString& stamp) const;

  QString folder_;
  QHash<QString, Kept> kept_;
  QStringList queue_;
  QSet<QString> waiting_;
  Background background_;
};

/// The folder in which this user's windows keep digests.
QString digestFolder();

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/digest_store.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QPainter>
#include <QSaveFile>
#include <QStandardPaths>

#include "viz/style/theme.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::viz {
namespace {

constexpr QSize kDrawn(560, 288), kKept(264, 136);
constexpr const char* kKind = "digest";

/// Returns text that changes whenever the recording does.
QString stampFor(const QString& path) {
  const QFileInfo file(path);
  return QString("%1 %2").arg(file.size()).arg(file.lastModified().toMSecsSinceEpoch());
}

QImage drawScene(const RingScene& scene, const Theme& theme) {
  QImage image(kDrawn, QImage::Format_RGB32);
  image.fill(theme.background);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  paintRing(painter, QRectF(image.rect()), scene, 0.55, theme);
  painter.end();
  return image.scaled(kKept, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
}

std::optional<RecordingDigest> load(const QString& file) {
  QFile text(file + ".json");
  if (!text.open(QIODevice::ReadOnly)) return std::nullopt;
  auto digest = decodeDigest(text.readAll());
  if (!digest) return std::nullopt;
  digest->dark.load(file + "-dark.png");
  digest->light.load(file + "-light.png");
  return digest;
}

}  // namespace

/// The result of a thread: a digest, and a ring step when its pictures are not drawn yet.
struct DigestStore::Made {
  RecordingDigest digest;
  std::shared_ptr<const RingScene> scene;
  bool is_new = false;
};

DigestStore::DigestStore(QString folder, QObject* parent)
    : QObject(parent), folder_(std::move(folder)) {}

QString DigestStore::cacheFile(const QString& path, const QString& stamp) const {
  const QByteArray key = (path + "\n" + stamp).toUtf8();
  return folder_ + "/" + QCryptographicHash::hash(key, QCryptographicHash::Sha1).toHex().left(24);
}

std::shared_ptr<const RecordingDigest> DigestStore::digest(const QString& path) {
  const Kept kept = kept_.value(path);
  if (kept.digest && kept.stamp == stampFor(path)) return kept.digest;
  if (!waiting_.contains(path)) {
    waiting_ << path;
    queue_ << path;
    QMetaObject::invokeMethod(this, &DigestStore::makeNext, Qt::QueuedConnection);
  }
  return kept.digest;
}

void DigestStore::makeNext() {
  if (background_.busy() || queue_.isEmpty()) return;
  const QString path = queue_.takeFirst(), stamp = stampFor(path);
  background_.request(
      kKind,
      [path, file = cacheFile(path, stamp)](const std::stop_token&) {
        Made made;
        if (auto kept = load(file)) {
          made.digest = std::move(*kept);
          return made;
        }
        made.digest = readDigest(path.toStdString(), kMostJudged, made.scene);
        made.is_new = true;
        return made;
      },
      [this, path, stamp](const Made& made) { take(path, stamp, made); });
}

/// The threads share no painter, because the faces of ranks are kept for the window's thread.
void DigestStore::take(const QString& path, const QString& stamp, const Made& made) {
  RecordingDigest digest = made.digest;
  if (made.scene) {
    digest.dark = drawScene(*made.scene, Theme::named("dark"));
    digest.light = drawScene(*made.scene, Theme::named("light"));
  }
  waiting_.remove(path);
  kept_[path] = {stamp, std::make_shared<const RecordingDigest>(digest)};
  if (made.is_new) save(path, stamp, digest);
  Q_EMIT this->made(path);
  makeNext();
}

/// A digest that cannot be kept is made again by the next window.
void DigestStore::save(const QString& path, const QString& stamp, const RecordingDigest& digest) {
  QDir().mkpath(folder_);
  const QString file = cacheFile(path, stamp);
  if (!digest.dark.isNull()) digest.dark.save(file + "-dark.png");
  if (!digest.light.isNull()) digest.light.save(file + "-light.png");
  QSaveFile text(file + ".json");
  if (text.open(QIODevice::WriteOnly)) {
    text.write(encodeDigest(digest));
    text.commit();
  }
}

void DigestStore::setVerdict(const QString& path, const ShortVerdict& verdict) {
  const Kept kept = kept_.value(path);
  if (!kept.digest || !kept.digest->problem.isEmpty() ||
      kept.digest->verdict.words == verdict.words)
    return;
  RecordingDigest digest = *kept.digest;
  digest.verdict = verdict;
  kept_[path].digest = std::make_shared<const RecordingDigest>(digest);
  save(path, kept.stamp, digest);
  Q_EMIT made(path);
}

QString digestFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/recordings";
}

}  // namespace ringscope::viz

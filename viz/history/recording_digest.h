// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QImage>
#include <QString>
#include <memory>
#include <optional>

#include "traces/analysis/doctor/diagnosis.h"
#include "viz/history/run_settings.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

/// The verdict of the doctor about a recording, for one line.
struct ShortVerdict {
  enum class Kind { kUnknown, kRight, kWrong, kOpen };
  Kind kind = Kind::kUnknown;
  QString words;  ///< with the glyph of its kind: "▲ Position ids restart on every rank"
};
ShortVerdict shortVerdict(const traces::Diagnosis& diagnosis);

/// The facts that a list of recordings shows about one of them.
struct RecordingDigest {
  QString headline;  ///< the run in a few words; empty when the recording does not say
  RunSettings settings;
  ShortVerdict verdict;
  qint64 bytes = 0;
  QString problem;     ///< why the recording cannot be read; empty: it can
  QImage dark, light;  ///< pictures of a ring step; null when the recording has none
};

/// Reads a recording and asks the doctor about it. The pictures are left out. `scene` receives the
/// ring step that the pictures show. Recordings of more than `most_judged` bytes are not judged.
RecordingDigest readDigest(const std::string& path, std::int64_t most_judged,
                           std::shared_ptr<const RingScene>& scene);

/// Encodes everything but the pictures.
QByteArray encodeDigest(const RecordingDigest& digest);
/// Returns nothing for text that no version of this program wrote.
std::optional<RecordingDigest> decodeDigest(const QByteArray& text);

}  // namespace ringscope::viz

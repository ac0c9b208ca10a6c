// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/note_book.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/format/schema/fields.h"
#include "viz/history/recording_log.h"
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

constexpr int kNotesVersion = 1;
constexpr qint64 kMostBytes = 16 << 20;  // of a file of notes

nlohmann::json noteToJson(const MomentNote& note) {
  return {{"text", note.text.toStdString()},
          {"view", note.view.toStdString()},
          {"train_step", note.place.train_step},
          {"layer", note.place.layer.value()},
          {"direction", static_cast<int>(note.place.direction)},
          {"ring_step", note.place.stage.value()},
          {"phase", note.phase},
          {"rank", note.rank.value()},
          {"made", note.made.toUTC().toString(Qt::ISODate).toStdString()}};
}

MomentNote parseNote(const nlohmann::json& json) {
  MomentNote note;
  note.text = QString::fromStdString(json.at("text").get<std::string>());
  note.view = QString::fromStdString(json.at("view").get<std::string>());
  note.place.train_step = json.at("train_step").get<std::int32_t>();
  note.place.layer = traces::Layer::of(json.at("layer").get<int>());
  note.place.direction = traces::checkedEnum<traces::Direction>(json.at("direction").get<int>());
  note.place.stage = traces::RingStep::of(json.at("ring_step").get<int>());
  note.phase = std::clamp(json.at("phase").get<double>(), 0.0, 1.0);
  note.rank = WorldRank::of(json.at("rank").get<int>());
  note.made =
      QDateTime::fromString(QString::fromStdString(json.at("made").get<std::string>()), Qt::ISODate)
          .toLocalTime();
  return note;
}

void sortByPlace(MomentNotes& notes) {
  std::ranges::stable_sort(notes, [](const MomentNote& a, const MomentNote& b) {
    if (a.place == b.place) return a.phase < b.phase;
    return traces::before(a.place, b.place);
  });
}

/// Reads a file of notes. Returns no value for a file that is damaged or of a newer version, and an
/// empty list where there is no file.
std::optional<MomentNotes> parseNotes(const QString& path) {
  if (!QFileInfo(path).isFile()) return MomentNotes();
  QFile file(path);
  if (file.size() > kMostBytes || !file.open(QIODevice::ReadOnly)) return std::nullopt;
  MomentNotes notes;
  try {
    const auto json = nlohmann::json::parse(file.readAll().toStdString());
    if (json.at("version").get<int>() != kNotesVersion) return std::nullopt;
    for (const auto& note : json.at("notes")) notes.push_back(parseNote(note));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  sortByPlace(notes);
  return notes;
}

/// Moves a file to the first free name that ends in ".unreadable". Returns that name; empty when it
/// cannot be moved.
QString setAside(const QString& path) {
  QString aside = path + ".unreadable";
  for (int next = 2; QFileInfo::exists(aside); ++next)
    aside = QString("%1.unreadable.%2").arg(path).arg(next);
  return QFile::rename(path, aside) ? aside : QString();
}

QString notesFile(const QString& recording) {
  const QString elsewhere = notesElsewhere(recording), beside = notesBeside(recording);
  return beside.isEmpty() || QFileInfo::exists(elsewhere) ? elsewhere : beside;
}

}  // namespace

/// A change of the notes, as the notes before and after it.
class NoteBook::Change : public QUndoCommand {
 public:
  Change(NoteBook& book, MomentNotes after, const QString& what)
      : QUndoCommand(what), book_(book), before_(book.notes_), after_(std::move(after)) {}
  void undo() override { book_.take(before_); }
  void redo() override { book_.take(after_); }

 private:
  NoteBook& book_;
  MomentNotes before_, after_;
};

NoteBook::NoteBook(QObject* parent) : QObject(parent) {}

void NoteBook::open(const QString& recording) {
  changes_.clear();
  problem_.clear();
  recording_ = recording;
  file_ = recording.isEmpty() ? QString() : notesFile(recording);
  const auto read = file_.isEmpty() ? MomentNotes() : parseNotes(file_);
  unreadable_ = !read;
  notes_ = read.value_or(MomentNotes());
  if (unreadable_)
    problem_ = tr("The notes in %1 cannot be read: the file is damaged or of a newer version.")
                   .arg(QDir::toNativeSeparators(file_));
  Q_EMIT changed();
}

bool NoteBook::isBeside() const {
  return file_ == notesBeside(recording_);
}

void NoteBook::add(const MomentNote& note) {
  MomentNotes notes = notes_;
  notes.push_back(note);
  replace(std::move(notes), tr("add a note"));
}

void NoteBook::setText(std::size_t index, const QString& text) {
  if (index >= notes_.size() || notes_[index].text == text) return;
  MomentNotes notes = notes_;
  notes[index].text = text;
  replace(std::move(notes), tr("change a note"));
}

void NoteBook::remove(std::size_t index) {
  if (index >= notes_.size()) return;
  MomentNotes notes = notes_;
  notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(index));
  replace(std::move(notes), tr("delete a note"));
}

void NoteBook::replace(MomentNotes notes, const QString& what) {
  if (recording_.isEmpty()) return;
  sortByPlace(notes);
  changes_.push(new Change(*this, std::move(notes), what));
}

void NoteBook::take(const MomentNotes& notes) {
  notes_ = notes;
  if (unreadable_ && setAside(file_).isEmpty()) {
    problem_ = tr("The note is not saved: %1 cannot be read, and cannot be renamed.")
                   .arg(QDir::toNativeSeparators(file_));
    Q_EMIT changed();
    return;
  }
  unreadable_ = false;
  if (!isBeside()) QDir().mkpath(QFileInfo(file_).path());
  problem_ = saveNotes(file_, notes_);
  if (!problem_.isEmpty() && isBeside()) {
    file_ = notesElsewhere(recording_);
    QDir().mkpath(QFileInfo(file_).path());
    problem_ = saveNotes(file_, notes_);
  }
  Q_EMIT changed();
}

QString saveNotes(const QString& path, const MomentNotes& notes) {
  if (notes.empty()) {
    QFile file(path);
    return !file.exists() || file.remove() ? QString() : file.errorString();
  }
  nlohmann::json list = nlohmann::json::array();
  for (const MomentNote& note : notes) list.push_back(noteToJson(note));
  const nlohmann::json json = {{"version", kNotesVersion}, {"notes", list}};
  const auto text = QByteArray::fromStdString(json.dump(1));
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit())
    return {};
  return file.errorString();
}

MomentNotes readNotes(const QString& recording) {
  return parseNotes(notesFile(recording)).value_or(MomentNotes());
}

QString notesElsewhere(const QString& recording) {
  const QByteArray key = entryPath(recording).toUtf8();
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/notes/" +
         QCryptographicHash::hash(key, QCryptographicHash::Sha1).toHex() + ".notes";
}

}  // namespace ringscope::viz

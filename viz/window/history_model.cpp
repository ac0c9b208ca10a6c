// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/history_model.h"

#include <algorithm>

#include "traces/format/core/error.h"
#include "viz/history/note_book.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

bool matches(const HistoryRow& row, const QStringList& wanted) {
  const QString text = row.entry.name + " " + row.entry.path + " " + row.words();
  return std::ranges::all_of(
      wanted, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

ShortVerdict HistoryRow::state() const {
  using Kind = ShortVerdict::Kind;
  const auto say = [](Kind kind, const QString& words) { return ShortVerdict{kind, words}; };
  if (is_recorded_now) return say(Kind::kUnknown, HistoryModel::tr("being recorded"));
  if (entry.is_missing)
    return say(Kind::kWrong, HistoryModel::tr("▲ not found: it was moved or deleted"));
  if (entry.is_remote)
    return say(Kind::kUnknown, HistoryModel::tr("on another machine; open it to read it"));
  if (!digest) return say(Kind::kUnknown, HistoryModel::tr("reading …"));
  if (!digest->problem.isEmpty())
    return say(Kind::kWrong, HistoryModel::tr("▲ cannot be read: %1").arg(digest->problem));
  if (digest->verdict.words.isEmpty())
    return say(Kind::kUnknown, HistoryModel::tr("large; open it to have it judged"));
  return digest->verdict;
}

QString HistoryRow::words() const {
  QStringList words;
  for (const SettingWord& word : settings) words << QString::fromStdString(word.text);
  if (digest) words << digest->headline;
  return (words + QStringList{state().words} + notes).join(" · ");
}

qint64 HistoryRow::bytes() const {
  return digest && digest->bytes > 0 ? digest->bytes : entry.bytes;
}

HistoryModel::HistoryModel(History& history, DigestStore& digests, QObject* parent)
    : QAbstractListModel(parent), history_(history), digests_(digests) {
  connect(&digests, &DigestStore::made, this, &HistoryModel::takeDigest);
}

void HistoryModel::reload(const QString& recorded_now) {
  recorded_now_ = recorded_now.isEmpty() ? QString() : entryPath(recorded_now);
  rows_.clear();
  for (HistoryEntry& entry : history_.list()) {
    HistoryRow row{std::move(entry), nullptr, {}, {}, false};
    for (const MomentNote& note : readNotes(row.entry.path)) row.notes << note.text;
    row.is_recorded_now = row.entry.path == recorded_now_;
    const bool is_readable = !row.is_recorded_now && !row.entry.is_missing && !row.entry.is_remote;
    if (is_readable) row.digest = digests_.digest(row.entry.path);
    rows_.push_back(std::move(row));
  }
  show();
}

void HistoryModel::setFilter(const QString& words) {
  filter_ = words;
  show();
}

void HistoryModel::show() {
  const QStringList wanted = filter_.split(' ', Qt::SkipEmptyParts);
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (matches(rows_[i], wanted)) shown.push_back(i);
  beginResetModel();
  shown_ = std::move(shown);
  compareNeighbours();
  endResetModel();
}

void HistoryModel::compareNeighbours() {
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    HistoryRow& row = rows_[shown_[i]];
    const auto& next = i + 1 < shown_.size() ? rows_[shown_[i + 1]].digest : nullptr;
    if (row.digest)
      row.settings =
          describeDifferences(row.digest->settings, next ? next->settings : RunSettings());
  }
}

void HistoryModel::takeDigest(const QString& path) {
  const auto found = std::ranges::find(rows_, path, [](const auto& row) { return row.entry.path; });
  if (found == rows_.end() || found->is_recorded_now) return;
  found->digest = digests_.digest(path);
  compareNeighbours();
  if (!filter_.isEmpty() && !indexFor(path).isValid()) return show();  // it may match now
  if (!shown_.empty()) Q_EMIT dataChanged(index(0), index(rowCount() - 1));
}

const HistoryRow* HistoryModel::row(const QModelIndex& index) const {
  const auto at = static_cast<std::size_t>(index.row());
  return index.isValid() && at < shown_.size() ? &rows_[shown_[at]] : nullptr;
}

QModelIndex HistoryModel::indexFor(const QString& path) const {
  for (std::size_t i = 0; i < shown_.size(); ++i)
    if (rows_[shown_[i]].entry.path == path) return index(static_cast<int>(i));
  return {};
}

int HistoryModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant HistoryModel::data(const QModelIndex& index, int role) const {
  const HistoryRow* found = row(index);
  if (!found) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return found->entry.name;
    case Qt::ToolTipRole:
      return found->entry.path;
    case Qt::AccessibleTextRole:
      return QString("%1%2 · %3 · %4")
          .arg(found->entry.pinned ? tr("pinned: ") : QString(), found->entry.name,
               describeBytes(found->bytes()).c_str(), found->words());
    default:
      return {};
  }
}

bool HistoryModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!row(index) || role != Qt::EditRole) return false;
  HistoryEntry& entry = rows_[shown_[static_cast<std::size_t>(index.row())]].entry;
  const QString name = value.toString().trimmed();
  if (name == entry.name) return false;
  try {
    history_.rename(entry, name);
  } catch (const Error& error) {
    Q_EMIT failed(error.what());
    return false;
  }
  Q_EMIT dataChanged(index, index);
  return true;
}

Qt::ItemFlags HistoryModel::flags(const QModelIndex& index) const {
  return QAbstractListModel::flags(index) | Qt::ItemIsEditable;
}

}  // namespace ringscope::viz

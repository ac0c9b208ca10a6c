// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractListModel>

#include "viz/history/digest_store.h"
#include "viz/history/history.h"

namespace ringscope::viz {

/// One line of the history.
struct HistoryRow {
  HistoryEntry entry;
  std::shared_ptr<const RecordingDigest> digest;  ///< null while it is being made
  std::vector<SettingWord> settings;
  QStringList notes;  ///< the words of the notes about its moments
  bool is_recorded_now = false;

  /// Returns the sentence about the state of the recording: its verdict, or why it has none.
  ShortVerdict state() const;
  /// Returns the settings and the state in words, for a search and for a screen reader.
  QString words() const;
  qint64 bytes() const;
};

/// The runs and recordings that match the words of a search, as rows of a list. A row is edited to
/// rename its recording.
class HistoryModel : public QAbstractListModel {
  Q_OBJECT
 public:
  HistoryModel(History& history, DigestStore& digests, QObject* parent);

  /// Reads the list again. `recorded_now` is the run that is being recorded, or empty.
  void reload(const QString& recorded_now);
  void setFilter(const QString& words);
  /// Returns null for an invalid index.
  const HistoryRow* row(const QModelIndex& index) const;
  QModelIndex indexFor(const QString& path) const;
  /// Returns the number of runs and recordings, whether they match or not.
  std::size_t total() const { return rows_.size(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  /// A change could not be kept.
  void failed(const QString& problem);

 private:
  void takeDigest(const QString& path);
  void show();
  void compareNeighbours();

  History& history_;
  DigestStore& digests_;
  QString recorded_now_, filter_;
  std::vector<HistoryRow> rows_;
  std::vector<std::size_t> shown_;  // indices into rows_
};

}  // namespace ringscope::viz

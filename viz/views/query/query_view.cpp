// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "traces/format/core/prose.h"
#include "viz/kit/choice.h"
#include "viz/kit/passing_list.h"
#include "viz/kit/plain_key.h"
#include "viz/session/background.h"
#include "viz/views/base/view.h"
#include "viz/views/query/query_model.h"

namespace ringscope::viz {
namespace {

constexpr std::size_t kMostRows = 5000;

/// Rows are chosen as a whole, so that no cell is shown as the current one.
class RowDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->state &= ~QStyle::State_HasFocus;
  }
};

/// Asks one query at a time on a thread of its own, and tells how far it is.
class RunningQuery : public QObject {
 public:
  using Show = std::function<void(QueryAnswer)>;
  using Tell = std::function<void(const QString&)>;

  /// Calls `show` with each answer, and `tell` with a sentence while a query runs. Both are called
  /// on the thread of the window.
  RunningQuery(QObject* parent, Show show, Tell tell)
      : QObject(parent), show_(std::move(show)), tell_(std::move(tell)) {
    connect(&background_, &Background::failed, this, [this](const QString&, const QString& why) {
      QueryAnswer none;
      none.problem = why.toStdString();
      end(std::move(none));
    });
    timer_.setInterval(500);
    connect(&timer_, &QTimer::timeout, this, [this] { tellProgress(); });
  }

  void start(const std::shared_ptr<RecordedFile>& file, const QString& sql) {
    since_.start();
    rows_ = std::make_shared<std::atomic<std::size_t>>(0);
    timer_.start();
    background_.request(
        "query",
        [file, sql = sql.toStdString(), so_far = rows_](const std::stop_token& stop) {
          return ask(*file, sql, kMostRows, [stop, so_far](std::size_t rows) {
            *so_far = rows;
            return stop.stop_requested();
          });
        },
        [this](const QueryAnswer& answer) { end(answer); });
  }
  void cancel() {
    background_.cancel("query");
    end({});
  }

 private:
  void end(QueryAnswer answer) {
    timer_.stop();
    show_(std::move(answer));
  }
  void tellProgress() {
    tell_(QString("running: %1 after %2; Esc cancels")
              .arg(QString::fromStdString(
                       traces::describeCount(static_cast<std::int64_t>(*rows_), "row")),
                   QString::fromStdString(
                       traces::describeSeconds(static_cast<double>(since_.elapsed()) / 1000))));
  }

  Show show_;
  Tell tell_;
  std::shared_ptr<std::atomic<std::size_t>> rows_;
  QElapsedTimer since_;
  QTimer timer_;
  Background background_;
};

/// A SELECT over the recording, written or chosen; a row leads to its place. Questions that follow
/// the cursor are asked again when it moves. The query runs on a thread of its own.
class QueryView : public View {
 public:
  QueryView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Query: events, hops, tensors, memory, shards, verdicts and findings by SQL",
             parent) {
    questions_->setAccessibleName("Question");
    sql_->setAccessibleName("SELECT over the recording");
    sql_->setTabChangesFocus(true);
    sql_->setPlaceholderText(
        "SELECT … FROM events, hops, tensors, memory, shards, diffs, findings");
    sql_->installEventFilter(this);
    run_->setToolTip("Ask the recording (Ctrl+Enter)");
    copy_->setToolTip("Copy all rows as a table (Ctrl+Shift+C)");
    status_->setObjectName("dim");
    makeTable();
    listQuestions();
    connect(questions_, &Choice::activated, this, [this](int at) { choose(at); });
    connect(run_, &QPushButton::clicked, this, [this] { running_ ? stop() : run(); });
    connect(copy_, &QPushButton::clicked, this, [this] { copy(); });
    table_->installEventFilter(this);
    setFocusProxy(table_);
  }

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.place = cursor.place;
    return seen;
  }
  /// The same path may hold another recording by now.
  void startOver() override { asked_.reset(); }
  void refresh() override {
    if (asked_ != viewing_.session.file()) {
      asked_ = viewing_.session.file();
      show({});
      if (written_.isEmpty()) return choose(questions_->currentIndex());
      return run();
    }
    const int at = questions_->currentIndex();
    listQuestions();
    const Question& question = all_[static_cast<std::size_t>(at)];
    if (question.of_moment && written_.isEmpty()) choose(at);
  }
  void themeChanged() override {
    sql_->setFont(monoFont(static_cast<int>(12 * zoom_)));
    table_->setFont(monoFont(static_cast<int>(12 * zoom_)));
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    painter.fillRect(page, theme_->background);
  }
  bool eventFilter(QObject* of, QEvent* event) override {
    if (takesEscape(event)) return true;
    if (event->type() != QEvent::KeyPress) return View::eventFilter(of, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape && running_) {
      stop();
      return true;
    }
    if (of != sql_) return View::eventFilter(of, event);
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (!enter || !(key->modifiers() & Qt::ControlModifier)) return false;
    run();
    return true;
  }
  bool event(QEvent* event) override { return takesEscape(event) || View::event(event); }
  /// While a query runs, Esc is for it and not for the window.
  bool takesEscape(QEvent* event) const {
    const bool takes = running_ && event->type() == QEvent::ShortcutOverride &&
                       static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape;
    if (takes) event->accept();
    return takes;
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (plainKey(*event) == Qt::Key_Escape && running_) return stop();
    const bool copies = event->key() == Qt::Key_C &&
                        event->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier);
    copies ? copy() : View::keyPressEvent(event);
  }

 private:
  void makeTable() {
    table_->setAccessibleName("Rows");
    table_->setModel(&model_);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setTabKeyNavigation(false);
    table_->verticalHeader()->hide();
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->setItemDelegate(new RowDelegate(table_));
    // Tab makes a row current without selecting it, so only a selected row leads to its place.
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            [this](const QItemSelection& chosen) {
              if (!chosen.isEmpty()) lead(chosen.indexes().first().row());
            });
  }
  void arrange() override {
    const auto scaled = [this](int length) { return static_cast<int>(length * zoom_); };
    const int edge = scaled(20), gap = scaled(8), head = scaled(31), button = scaled(72);
    const int lines = scaled(64), right = width() - edge;
    questions_->setGeometry(edge, scaled(12), right - edge - 2 * (button + gap), head);
    run_->setGeometry(right - 2 * button - gap, scaled(12), button, head);
    copy_->setGeometry(right - button, scaled(12), button, head);
    sql_->setGeometry(edge, scaled(12) + head + gap, right - edge, lines);
    const int top = sql_->geometry().bottom() + gap, line = scaled(22);
    status_->setGeometry(edge, height() - line - scaled(4), right - edge, line);
    table_->setGeometry(edge, top, right - edge, height() - top - line - scaled(8));
    table_->verticalHeader()->setDefaultSectionSize(scaled(24));
    table_->horizontalHeader()->setFixedHeight(scaled(24));
  }

  void listQuestions() {
    const bool first = all_.empty();
    all_ = questionsAt(cursor().place);
    if (!first) return;
    for (const Question& question : all_)
      questions_->addItem(QString::fromStdString(question.says));
  }
  /// Puts a question's SQL in place of what was written, and asks it.
  void choose(int at) {
    listQuestions();
    written_.clear();
    const QSignalBlocker quiet(sql_);
    chosen_ = QString::fromStdString(all_[static_cast<std::size_t>(at)].sql);
    sql_->setPlainText(chosen_);
    run();
  }
  void run() {
    const QString sql = sql_->toPlainText().trimmed();
    written_ = sql == chosen_ ? QString() : sql;
    if (!asked_) return tell("The recording can be asked when the run has ended.");
    if (sql.isEmpty()) return tell("Write a SELECT, or choose a question.");
    running_ = true;
    run_->setText("Cancel");
    tell("running");
    query_.start(asked_, sql);
  }
  void stop() {
    query_.cancel();
    tell("stopped");
  }
  void show(QueryAnswer answer) {
    running_ = false;
    run_->setText("Ask");
    tell(QString::fromStdString(viz::describe(answer)));
    {
      const QSignalBlocker quiet(table_->selectionModel());
      model_.show(std::move(answer));
    }
    copy_->setEnabled(model_.rowCount() > 0);
    table_->resizeColumnsToContents();
  }
  void tell(const QString& words) {
    status_->setText(words);
    describe(words.toStdString());
  }
  void copy() {
    if (model_.rowCount() == 0) return;
    QApplication::clipboard()->setText(QString::fromStdString(asTable(model_.answer())));
    tell("copied, " + QString::fromStdString(viz::describe(model_.answer())));
  }
  /// The rows stay as they are while one of them is gone to.
  void lead(int row) {
    if (row < 0) return;
    const auto to = rowCursor(model_.answer(), static_cast<std::size_t>(row), cursor());
    if (!to) return;
    written_ = sql_->toPlainText().trimmed();
    viewing_.navigator.goTo(*to);
  }

  // Qt calls event() while the children below are constructed, so this member comes before them.
  bool running_ = false;
  std::vector<Question> all_;
  Choice* questions_ = new Choice(this);
  QPushButton* run_ = new QPushButton("Ask", this);
  QPushButton* copy_ = new QPushButton("Copy", this);
  QPlainTextEdit* sql_ = new QPlainTextEdit(this);
  QTableView* table_ = new PassingList<QTableView>(this);
  QLabel* status_ = new QLabel(this);
  QueryModel model_;
  std::shared_ptr<RecordedFile> asked_;
  QString chosen_;   // SQL of the question that was chosen
  QString written_;  // by the user, or kept because a row of it was gone to; empty: chosen_ holds
  RunningQuery query_{this, [this](QueryAnswer answer) { show(std::move(answer)); },
                      [this](const QString& words) { tell(words); }};
};

}  // namespace

View* makeQueryView(Viewing& viewing, QWidget* parent) {
  return new QueryView(viewing, parent);
}

}  // namespace ringscope::viz

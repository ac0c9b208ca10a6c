// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/main_window.h"

#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QPointer>
#include <QScrollArea>
#include <QSettings>
#include <QShortcut>
#include <QStandardPaths>
#include <QVBoxLayout>
#include <thread>

#include "traces/core/error.h"
#include "viz/window/keys.h"
#include "viz/window/status_text.h"

namespace ringscope::viz {
namespace {

QWidget* separator(QWidget* parent) {
  auto* line = new QWidget(parent);
  line->setObjectName("separator");
  line->setFixedHeight(1);
  return line;
}

QString runsFolder() {
  const QString folder =
      QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/runs";
  QDir().mkpath(folder);
  return folder;
}

}  // namespace

MainWindow::MainWindow(const QString& engine_program, QWidget* parent)
    : QMainWindow(parent), engine_program_(engine_program), theme_(&Theme::all().front()) {
  setWindowTitle("RingScope");
  setAcceptDrops(true);
  resize(1440, 860);
  setMinimumSize(960, 600);
  auto* page = new QWidget(this);
  page->setObjectName("stage");
  auto* rows = new QVBoxLayout(page);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  rows->addWidget(makeTopBar());
  rows->addWidget(separator(page));
  auto* middle = new QHBoxLayout;
  middle->setSpacing(1);
  run_panel_ = new RunPanel(hub_, engine_, page);
  run_panel_->setFixedWidth(248);
  auto* left = new QScrollArea(page);
  left->setWidget(run_panel_);
  left->setWidgetResizable(true);
  left->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  left->setFixedWidth(250);
  left->setFocusPolicy(Qt::NoFocus);
  auto* inspector = new Inspector(hub_, page);
  auto* right = new QScrollArea(page);
  right->setWidget(inspector);
  right->setWidgetResizable(true);
  right->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  right->setFixedWidth(320);
  middle->addWidget(left);
  middle->addWidget(makeStage(), 1);
  middle->addWidget(right);
  rows->addLayout(middle, 4);
  rows->addWidget(separator(page));
  rows->addWidget(new TransportBar(hub_, page));
  timeline_ = new TimelineView(hub_, page);
  rows->addWidget(timeline_, 1);
  rows->addWidget(separator(page));
  auto* status_row = new QHBoxLayout;
  status_row->setContentsMargins(20, 4, 20, 4);
  status_ = new QLabel(page);
  status_right_ = new QLabel(page);
  status_->setObjectName("dim");
  status_right_->setObjectName("dim");
  status_row->addWidget(status_, 1);
  status_row->addWidget(status_right_);
  rows->addLayout(status_row);
  setCentralWidget(page);
  views_ << inspector << timeline_;

  connect(run_panel_, &RunPanel::runRequested, this, [this] { startRun(run_panel_->config()); });
  connect(&engine_, &EngineLink::chunkArrived, this, [this](const traces::Chunk& chunk) {
    try {
      hub_.addChunk(chunk);
    } catch (const Error& error) {
      message_ = error.what();
    }
  });
  connect(&engine_, &EngineLink::paused, this, [this] {
    // The picture of the stop is the newest ring step.
    hub_.publish();
    hub_.setMoment(static_cast<int>(hub_.trace().moments().size()) - 1, 1);
    hub_.setPlaying(false);
  });
  connect(&engine_, &EngineLink::ended, this, &MainWindow::runEnded);
  connect(&engine_, &EngineLink::stateChanged, this, &MainWindow::refreshStatus);
  connect(&hub_, &Hub::stateChanged, this, &MainWindow::refreshStatus);
  connect(&hub_, &Hub::traceChanged, this, &MainWindow::refreshStatus);
  connect(&frames_, &QTimer::timeout, this, &MainWindow::frame);
  frames_.setTimerType(Qt::PreciseTimer);
  frames_.start(16);
  frame_clock_.start();
  makeShortcuts();
  setTheme(Theme::all().front());
  refreshStatus();
  stage_->currentWidget()->setFocus();
}

MainWindow::~MainWindow() {
  for (auto& worker : workers_) worker.join();
}

QWidget* MainWindow::makeTopBar() {
  auto* bar = new QWidget(this);
  bar->setObjectName("panel");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(44);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(20, 0, 20, 0);
  row->setSpacing(16);
  auto* name = new QLabel("RingScope", bar);
  name->setObjectName("title");
  headline_ = new QLabel(bar);
  headline_->setObjectName("dim");
  row->addWidget(name);
  row->addWidget(headline_, 1);
  auto* open = new QToolButton(bar);
  open->setText("Open …");
  open->setMinimumWidth(72);
  open->setToolTip("Open a recording (Ctrl+O), or drop one on the window");
  connect(open, &QToolButton::clicked, this, &MainWindow::chooseFile);
  auto* theme = new QToolButton(bar);
  theme->setText("Theme");
  theme->setMinimumWidth(64);
  theme->setToolTip("Dark, light, high contrast (Ctrl+T)");
  connect(theme, &QToolButton::clicked, this, &MainWindow::nextTheme);
  row->addWidget(open);
  row->addWidget(theme);
  return bar;
}

QWidget* MainWindow::makeStage() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(16, 4, 16, 0);
  stage_ = new QStackedWidget(box);
  for (const ViewEntry& entry : viewRegistry()) {
    View* view = entry.make(hub_, stage_);
    views_ << view;
    const int page = stage_->addWidget(view);
    auto* tab = new QToolButton(box);
    tab->setObjectName("tab");
    tab->setText(entry.title);
    tab->setCheckable(true);
    tab->setChecked(page == 0);
    connect(tab, &QToolButton::clicked, this, [this, name = entry.name] { showView(name); });
    tabs_ << tab;
    bar->addWidget(tab);
  }
  bar->addStretch(1);
  column->addLayout(bar);
  column->addWidget(separator(box));
  column->addWidget(stage_, 1);
  return box;
}

void MainWindow::showView(const QString& name) {
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name != name) continue;
    stage_->setCurrentIndex(static_cast<int>(i));
    for (int t = 0; t < tabs_.size(); ++t) tabs_[t]->setChecked(t == static_cast<int>(i));
    return;
  }
  QStringList known;
  for (const auto& entry : entries) known << entry.name;
  throw usageError(("there is no view '" + name + "'; use " + known.join(", ")).toStdString());
}

void MainWindow::makeShortcuts() {
  auto on = [this](const QKeySequence& keys, auto action) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, action);
  };
  on(QKeySequence::Open, [this] { chooseFile(); });
  on(QKeySequence("Ctrl+T"), [this] { nextTheme(); });
  on(QKeySequence::Quit, [this] { close(); });
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!applyKey(hub_, *event)) QMainWindow::keyPressEvent(event);
}

/// The animation clock. Data that has come in since the last frame is shown with it.
void MainWindow::frame() {
  const double seconds = std::min(0.1, static_cast<double>(frame_clock_.restart()) * 1e-3);
  // While a pause is awaited the picture stands still, and the cores belong to the run.
  if (engine_.state() == EngineLink::State::kPausing) return;
  hub_.publish();
  hub_.advance(seconds);
}

void MainWindow::startRun(const RunConfig& asked) {
  if (engine_program_.isEmpty()) {
    message_ = "this installation only views recordings: the engine is not installed";
    return refreshStatus();
  }
  RunConfig config = asked;
  if (config.trace.isEmpty()) config.trace = runsFolder() + "/run.rscope";
  message_.clear();
  trace_path_ = config.trace;
  ++request_;
  run_panel_->setConfig(asked);
  hub_.setTrace(std::make_shared<traces::Trace>(), QFileInfo(trace_path_).fileName(), true);
  hub_.setPlaying(true);
  try {
    engine_.start(engine_program_, config.arguments());
  } catch (const Error& error) {
    message_ = error.what();
    hub_.setLive(false);
  }
}

void MainWindow::runEnded(const QString& failure) {
  hub_.publish();
  hub_.setLive(false);
  message_ = failure;
  refreshStatus();
  if (QFileInfo::exists(trace_path_)) diagnoseFile(trace_path_);
}

/// Runs `make` on a worker thread and hands its value to `use` on this one, unless something newer
/// has been asked for since.
template <typename Make, typename Use>
void MainWindow::inBackground(Make make, Use use) {
  const int request = ++request_;
  QPointer<MainWindow> self(this);
  workers_.emplace_back([=, this] {
    auto value = make();
    QMetaObject::invokeMethod(
        this,
        [=, this] {
          if (self && request == request_) use(value);
        },
        Qt::QueuedConnection);
  });
}

void MainWindow::diagnoseFile(const QString& path) {
  inBackground(
      [path = path.toStdString()]() -> std::optional<traces::Diagnosis> {
        try {
          return traces::diagnose(*traces::openTrace(path));
        } catch (const Error&) {
          return std::nullopt;  // the window already shows what was streamed
        }
      },
      [this](const std::optional<traces::Diagnosis>& diagnosis) {
        if (diagnosis) hub_.setDiagnosis(*diagnosis);
      });
}

void MainWindow::openTrace(const QString& path) {
  struct Result {
    std::shared_ptr<traces::Trace> trace;
    QString failure;
  };
  message_ = "opening " + path;
  refreshStatus();
  inBackground(
      [path = path.toStdString()] {
        Result result;
        try {
          result.trace = traces::openTrace(path);
        } catch (const Error& error) {
          result.failure = error.what();
        }
        return result;
      },
      [this, path](const Result& result) {
        message_ = result.failure;
        if (result.trace) {
          engine_.stop();
          trace_path_ = path;
          hub_.setTrace(result.trace, QFileInfo(path).fileName(), false);
          if (!result.trace->problems().empty())
            message_ = QString::fromStdString(result.trace->problems().front());
          hub_.setPlaying(true);
          diagnoseFile(path);
        }
        refreshStatus();
        Q_EMIT opened(result.failure);
      });
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, "Open a recording", runsFolder(),
                                                    "RingScope traces (*.rscope);;All files (*)");
  if (!path.isEmpty()) openTrace(path);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  if (!event->mimeData()->urls().isEmpty())
    openTrace(event->mimeData()->urls().first().toLocalFile());
}

void MainWindow::nextTheme() {
  const auto& all = Theme::all();
  const auto at = static_cast<std::size_t>(theme_ - all.data());
  setTheme(all[(at + 1) % all.size()]);
}

void MainWindow::setTheme(const Theme& theme) {
  theme_ = &theme;
  setStyleSheet(themeStyleSheet(theme) +
                QString("QWidget#separator { background: %1; }").arg(theme.line.name()));
  for (View* view : views_) view->setTheme(theme);
  refreshStatus();
}

void MainWindow::refreshStatus() {
  headline_->setText(headlineText(hub_));
  status_->setText(statusText(hub_, engine_));
  const QFileInfo file(trace_path_);
  status_right_->setText(
      !message_.isEmpty() ? "▲ " + message_
      : file.exists() ? QString("%1 · %2").arg(file.fileName(), describeBytes(file.size()).c_str())
                      : "");
  const QString color = message_.isEmpty() ? "" : QString("color: %1").arg(theme_->wrong.name());
  if (status_right_->styleSheet() != color) status_right_->setStyleSheet(color);
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/start_page.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <random>

#include "traces/format/core/error.h"
#include "traces/format/core/resources.h"
#include "viz/session/viewing.h"
#include "viz/views/doctor/view_picture.h"
#include "viz/window/door.h"

namespace ringscope::viz {
namespace {

constexpr const char* kSample = "sample/missing_position_ids.rscope";
constexpr const char* kJobLine = "python -m ringscope train.py";
constexpr int kWidest = 1320, kMargin = 24, kGap = 16;
constexpr int kMostRounds = 20, kUsualRounds = 5, kMostSeed = 9999, kMostMinutes = 60;

QToolButton* makeButton(const QString& words, const QString& tip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(words);
  button->setToolTip(tip);
  button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  return button;
}

QPushButton* makePrimary(const QString& words, QWidget* parent) {
  auto* button = new QPushButton(words, parent);
  button->setObjectName("primary");
  button->setAutoDefault(true);
  return button;
}

QSpinBox* makeNumber(const QString& name, int least, int most, int value, QWidget* parent) {
  auto* box = new QSpinBox(parent);
  box->setRange(least, most);
  box->setValue(value);
  box->setAccessibleName(name);
  return box;
}

}  // namespace

QString samplePath() {
  try {
    return QString::fromStdString(traces::resourcePath(kSample));
  } catch (const Error&) {
    return {};
  }
}

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Start"));
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  rows->setSpacing(8);
  rows->addStretch(2);
  auto* title = new QLabel(tr("Follow every KV block round the ring"), this);
  title->setObjectName("hero");
  auto* lead = new QLabel(tr("Choose a door, or drop a recording on the window."), this);
  lead->setObjectName("dim");
  for (QLabel* label : {title, lead}) {
    label->setAlignment(Qt::AlignHCenter);
    rows->addWidget(label);
  }
  rows->addSpacing(kGap);
  auto* line = new QHBoxLayout;
  line->setSpacing(kGap);
  doors_ = {new Door(tr("Explore"),
                     tr("Train the sample model over four ranks, and see what happens at every "
                        "ring step."),
                     this),
            new Door(tr("Debug"),
                     tr("Open a recording, or record your own PyTorch job with this line."), this),
            new Door(tr("Teach"),
                     tr("Six lessons, or a class that looks for one sealed mistake in a real run."),
                     this)};
  doors_[0]->setView("ring", tr("Picture: the Ring view of the sample recording"));
  doors_[1]->setView("positions", tr("Picture: the Positions view of the sample recording"));
  doors_[2]->setView("merge", tr("Picture: the Merge view of the sample recording"));
  line->addStretch(1);
  for (Door* door : doors_) {
    door->setMaximumWidth((kWidest - 2 * kGap) / 3);
    line->addWidget(door, 100);
  }
  line->addStretch(1);
  rows->addLayout(line);
  rows->addSpacing(kGap);
  recent_ = new RecentList(this);
  recent_->setMaximumWidth(kWidest);
  auto* below = new QHBoxLayout;
  below->addStretch(1);
  below->addWidget(recent_, 300);
  below->addStretch(1);
  rows->addLayout(below);
  rows->addStretch(3);
  connect(recent_, &RecentList::chosen, this, &StartPage::recordingRequested);
  connect(recent_, &RecentList::allRequested, this, &StartPage::historyRequested);
  addExplore();
  addDebug();
  addTeach();
}

void StartPage::addExplore() {
  QVBoxLayout* column = doors_[0]->controls();
  explore_ = makePrimary(tr("Run the sample"), this);
  auto* sample = makeButton(tr("Open a run with a known mistake"),
                            tr("A recording in which position ids were not sharded"), this);
  sample->setEnabled(!samplePath().isEmpty());
  column->addWidget(explore_);
  column->addWidget(sample);
  connect(explore_, &QPushButton::clicked, this, [this] {
    explore_->property("opens").toBool() ? Q_EMIT recordingRequested(samplePath())
                                         : Q_EMIT
                                           exploreRequested();
  });
  connect(sample, &QToolButton::clicked, this, [this] { Q_EMIT recordingRequested(samplePath()); });
}

void StartPage::addDebug() {
  QVBoxLayout* column = doors_[1]->controls();
  auto* open = makePrimary(tr("Open a recording …"), this);
  listen_ =
      makeButton(tr("Listen to my job"), tr("Show a job while it runs on this machine"), this);
  line_ = new QLineEdit(kJobLine, this);
  line_->setObjectName("line");
  line_->setReadOnly(true);
  line_->setAccessibleName(tr("Line that starts a job with the recorder"));
  auto* copy = makeButton(tr("Copy"), tr("Copy the line"), this);
  copy->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  copy->setMinimumWidth(64);
  line_->setMinimumHeight(copy->sizeHint().height());
  connect(copy, &QToolButton::clicked, this,
          [this] { QApplication::clipboard()->setText(line_->text()); });
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(line_, 1);
  row->addWidget(copy);
  column->addWidget(open);
  column->addWidget(listen_);
  column->addLayout(row);
  connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
  connect(listen_, &QToolButton::clicked, this, &StartPage::listenRequested);
}

void StartPage::addTeach() {
  QVBoxLayout* column = doors_[2]->controls();
  quiz_ = makePrimary(tr("Start a quiz"), this);
  auto* lessons = makeButton(
      tr("Lessons"), tr("Six lessons beside the views, which check what the learner did"), this);
  auto* mistakes = makeButton(tr("Mistakes"), tr("Read about every mistake, and run it"), this);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(lessons);
  row->addWidget(mistakes);
  column->addWidget(quiz_);
  column->addLayout(row);
  column->addWidget(makeQuizFields(doors_[2]));
  connect(quiz_, &QPushButton::clicked, this, &StartPage::quizRequested);
  connect(lessons, &QToolButton::clicked, this, &StartPage::lessonsRequested);
  connect(mistakes, &QToolButton::clicked, this, &StartPage::mistakesRequested);
}

QWidget* StartPage::makeQuizFields(QWidget* parent) {
  auto* box = new QWidget(parent);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  const int proposed = 1 + static_cast<int>(std::random_device()() % kMostSeed);
  seed_ = makeNumber(tr("Seed of the quiz"), 1, kMostSeed, proposed, box);
  seed_->setToolTip(tr("The same seed gives everybody the same mistakes"));
  rounds_ = makeNumber(tr("Rounds of the quiz"), 1, kMostRounds, kUsualRounds, box);
  minutes_ = makeNumber(tr("Minutes of each round"), 0, kMostMinutes, 0, box);
  minutes_->setSpecialValueText("∞");
  minutes_->setToolTip(tr("The time to answer a round; the least value sets no limit"));
  const std::pair<QString, QSpinBox*> fields[] = {
      {tr("seed"), seed_}, {tr("rounds"), rounds_}, {tr("min."), minutes_}};
  for (const auto& [name, field] : fields) {
    auto* label = new QLabel(name, box);
    label->setObjectName("dim");
    row->addWidget(label);
    row->addWidget(field, 1);
  }
  return box;
}

void StartPage::setEngine(bool installed) {
  explore_->setProperty("opens", !installed);
  explore_->setText(installed ? tr("Run the sample") : tr("Open the sample recording"));
  explore_->setEnabled(installed || !samplePath().isEmpty());
  quiz_->setEnabled(installed);
  quiz_->setToolTip(installed ? QString()
                              : tr("A quiz needs the engine. Install ringscope[engine]."));
}

void StartPage::setInvitation(const QString& invitation) {
  line_->setText(invitation.isEmpty() ? QString(kJobLine) : invitation + " " + kJobLine);
  line_->setCursorPosition(0);
  listen_->setEnabled(invitation.isEmpty());
  listen_->setText(invitation.isEmpty() ? tr("Listen to my job") : tr("Listening: run this line"));
}

void StartPage::setTheme(const Theme& theme) {
  theme_ = &theme;
  if (isVisible()) drawPictures();
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  explore_->setFocus();
  drawPictures();
  Q_EMIT shown();
}

void StartPage::setRecent(const std::vector<RecentRecording>& recordings) {
  recordings_ = recordings;
  fitRecent();
}

void StartPage::fitRecent() {
  constexpr int kLowPage = 700;
  constexpr std::size_t kFewLines = 3, kMostLines = 5;
  recent_->setRecordings(recordings_, height() < kLowPage ? kFewLines : kMostLines);
}

void StartPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitRecent();
}

/// The recording is read on a thread; the views are drawn when it has come.
void StartPage::drawPictures() {
  if (drawn_ == theme_ || samplePath().isEmpty()) return;
  drawn_ = theme_;
  background_.request(
      "sample",
      [path = samplePath().toStdString()](const std::stop_token&) {
        auto file = std::make_shared<RecordedFile>(path);
        file->trace();
        return file;
      },
      [this](const std::shared_ptr<RecordedFile>& file) {
        Viewing viewing;
        viewing.session.open(file->trace(), {}, false, file);
        viewing.navigator.setMoment(1, 0.55);
        for (Door* door : doors_)
          door->setPicture(drawPicture(viewing.session, door->view(), viewing.navigator.cursor(),
                                       *theme_, devicePixelRatioF()));
      });
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>

#include "viz/lessons/lesson.h"

static void linkLessons() {
  Q_INIT_RESOURCE(lessons);
}

namespace ringscope::viz {

const std::vector<Lesson>& allLessons() {
  static const std::vector<Lesson> kLessons = [] {
    linkLessons();
    std::vector<Lesson> lessons;
    for (const QString& name : QDir(":/lessons").entryList({"*.md"}, QDir::Files, QDir::Name)) {
      QFile file(":/lessons/" + name);
      file.open(QIODevice::ReadOnly);
      lessons.push_back(parseLesson(name.chopped(3).toStdString(), file.readAll().toStdString(),
                                    "docs/lessons/" + name.toStdString()));
    }
    return lessons;
  }();
  return kLessons;
}

}  // namespace ringscope::viz

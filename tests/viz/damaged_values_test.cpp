// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded job with damaged values in the real window. A view that needs the values says that
// they are damaged, and no older picture remains in its place.
#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "tests/viz/window_fixture.h"
#include "viz/window/stage.h"

namespace ringscope::viz {
namespace {

constexpr const char* kValues = "rank-00000.values-0000.safetensors";

/// A copy in which no value of rank 0 matches the recorded hashes.
class DamagedCopy : public test::RecordingCopy {
 public:
  DamagedCopy() : RecordingCopy() { damageValues(kValues); }
};

class DamagedValuesTest : public WindowTest {
 protected:
  QString said(const QString& name) {
    window.showView(name);
    QTest::qWait(20);
    auto* view = window.findChild<Stage*>()->currentWidget();
    picture = view->grab().toImage();
    return view->accessibleDescription();
  }
  QImage picture;
};

TEST_F(DamagedValuesTest, AViewThatNeedsThemReportsThemAndKeepsNoOldPicture) {
  open();
  const QString before = said("merge");
  const QImage older = picture;
  const DamagedCopy copy;
  openFile(copy.path());
  for (const char* view : {"merge", "tensor"}) {
    EXPECT_TRUE(said(view).endsWith("are damaged: they are not those whose hash was recorded"))
        << view << ": " << said(view).toStdString();
    EXPECT_NE(picture, older) << view;
  }
  openFile(dir.file("run-0.rscope"));
  EXPECT_EQ(said("merge"), before) << "what could be read again is not shown";
}

TEST_F(DamagedValuesTest, EveryOtherViewDrawsWhatItHas) {
  const DamagedCopy copy;
  openFile(copy.path());
  for (const char* view : {"ring", "coverage", "memory", "timeline", "now", "query"}) {
    said(view);
    EXPECT_GT(distinctColors(picture), 12) << view;
  }
}

}  // namespace
}  // namespace ringscope::viz

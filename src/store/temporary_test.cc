// Names for what is being written: never anybody else's, and nothing left of those who were killed.
#include "store/temporary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

#include "store/stream_writer.h"
#include "store/testing.h"

namespace flowscope::store {
namespace {

class TemporaryTest : public StoreTest {
 protected:
  std::vector<std::string> Left() const {
    std::vector<std::string> names = *NamesIn(folder_);
    std::sort(names.begin(), names.end());
    return names;
  }

  static void MakeOld(const std::string& path) {
    const timespec hour_ago{::time(nullptr) - 3600, 0};
    const timespec times[] = {hour_ago, hour_ago};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  // Runs `work` in a process of its own that is killed afterwards.
  template <typename Work>
  static void InKilledProcess(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(TemporaryTest, IsGoneUnlessItWasMoved) {
  {
    Result<Temporary> folder = Temporary::Folder(Path("a.flow"));
    Result<Temporary> other = Temporary::Folder(Path("a.flow"));
    Result<Temporary> file = Temporary::PlainFile(Path("b.npz"));
    ASSERT_TRUE(folder.ok() && other.ok() && file.ok());
    WriteFile(folder->path() + "/trace.sqlite", "x");
    EXPECT_EQ(Left(), (std::vector<std::string>{".a.flow.1.tmp", ".a.flow.tmp", ".b.npz.tmp"}));
    EXPECT_TRUE(IsBeingWritten(folder->path()));
    ASSERT_TRUE(file->MoveTo(Path("b.npz")).ok());
  }
  EXPECT_EQ(Left(), std::vector<std::string>{"b.npz"});
  EXPECT_FALSE(IsBeingWritten(Path("b.npz")));
}

TEST_F(TemporaryTest, WhatAKilledWriterLeftIsTakenOver) {
  for (int i = 0; i < 2; ++i) {
    InKilledProcess([this] {
      static Result<Temporary> made = Temporary::Folder(Path("a.flow"));
      WriteFile(made->path() + "/tensors-00000.part", "half");
    });
  }
  EXPECT_EQ(Left().size(), 2U);  // the second was too soon to tell
  for (const std::string& name : Left()) MakeOld(Path(name));
  EXPECT_TRUE(SaveTrace(*MakeSmall(), Path("a.flow"), {}).ok());
  EXPECT_EQ(Left(), std::vector<std::string>{"a.flow"});
}

TEST_F(TemporaryTest, WhatIsNotRubbishStays) {
  const Result<Temporary> living = Temporary::Folder(Path("a.flow"));
  MakeOld(living->path());
  ASSERT_EQ(::mkdir(Path("others").c_str(), 0755), 0);
  WriteFile(Path("others/precious"), "x");
  ASSERT_EQ(::symlink(Path("others").c_str(), Path(".a.flow.1.tmp").c_str()), 0);
  MakeOld(Path(".a.flow.1.tmp"));
  MakeOld(Path("others"));
  RemoveAbandoned(Path("a.flow"));
  EXPECT_TRUE(Exists(living->path()));
  EXPECT_TRUE(Exists(Path("others/precious")));
  EXPECT_TRUE(Exists(Path(".a.flow.1.tmp")));
  const Result<Temporary> next = Temporary::Folder(Path("a.flow"));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->path(), Path(".a.flow.2.tmp"));
}

TEST_F(TemporaryTest, AFolderThatIsBeingWrittenIsLeftToItsWriter) {
  auto writer = StreamWriter::Create(Path("a.flow"), {});
  ASSERT_TRUE(writer.ok());
  SaveOptions overwrite;
  overwrite.overwrite = true;
  EXPECT_EQ(SaveTrace(*MakeSmall(), Path("a.flow"), overwrite).code(),
            StatusCode::kInvalidArgument);
  StreamOptions again;
  again.overwrite = true;
  EXPECT_EQ(StreamWriter::Create(Path("a.flow"), again).status().code(),
            StatusCode::kInvalidArgument);
  const Status repair = RepairTrace(Path("a.flow"));
  EXPECT_EQ(repair.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(repair.message().find("is being written"), std::string::npos);
  TraceMaker m;
  m.Input("x", {1}, {1});
  (void)(*writer)->Finish(m.Finish()->tables());
  EXPECT_TRUE((*writer)->status().ok());
  EXPECT_TRUE(SaveTrace(*MakeSmall(), Path("a.flow"), overwrite).ok());
  EXPECT_EQ(Left(), std::vector<std::string>{"a.flow"});
}

TEST_F(TemporaryTest, NothingIsWrittenIntoAFolderThatTookTheName) {
  auto writer = StreamWriter::Create(Path("a.flow"), {});
  ASSERT_TRUE(writer.ok());
  std::filesystem::rename(Path("a.flow"), Path("moved.flow"));
  SaveSmall("a.flow");
  TraceMaker m;
  m.Input("x", {1}, {1});
  const EventSink::Kept kept = (*writer)->Finish(m.Finish()->tables());
  EXPECT_NE((*writer)->status().message().find("removed or replaced"), std::string::npos);
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ((*loaded)->num_ops(), MakeSmall()->num_ops());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(Path("a.flow")),
                          std::filesystem::directory_iterator()),
            2);
}

TEST_F(TemporaryTest, RepairLeavesNothingOfAnInterruptedEnd) {
  for (const bool finished : {false, true}) {
    const std::string path = Path(finished ? "whole.flow" : "cut.flow");
    if (finished) {
      ASSERT_TRUE(SaveTrace(*MakeSmall(), path, {}).ok());
    } else {
      ASSERT_TRUE(StreamWriter::Create(path, {}).ok());
    }
    WriteFile(path + "/.trace.sqlite.tmp", "half");
    WriteFile(path + "/.trace.sqlite.1.tmp", "half");
    WriteFile(path + "/tensors-00007.part", "half");
    ASSERT_TRUE(RepairTrace(path).ok()) << RepairTrace(path).ToString();
    const std::vector<std::string> names = *NamesIn(path);
    for (const std::string& name : names) {
      EXPECT_TRUE(name.ends_with(".sqlite") || name.ends_with(".safetensors")) << name;
    }
  }
}

}  // namespace
}  // namespace flowscope::store

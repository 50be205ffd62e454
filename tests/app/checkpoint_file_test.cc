#include "app/checkpoint/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint_codec.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Checkpoint Example(uint64_t confirmed = 0x16'0000) {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7412345678901234567";
  checkpoint.timeline = 1;
  checkpoint.slot = "walpost";
  checkpoint.birth = Lsn(0x15'0000);
  checkpoint.confirmed = Lsn(confirmed);
  checkpoint.position.commit_lsn = Lsn(confirmed + 8);
  checkpoint.position.ordinal = 1;
  return checkpoint;
}

absl::StatusOr<std::optional<Checkpoint>> Load(CheckpointStore& store) {
  absl::StatusOr<std::optional<Checkpoint>> result =
      absl::UnknownError("no callback");
  store.Load([&](auto loaded) { result = std::move(loaded); });
  return result;
}

absl::Status Save(CheckpointStore& store, const Checkpoint& checkpoint) {
  absl::Status result = absl::UnknownError("no callback");
  store.Save(checkpoint, [&](absl::Status saved) { result = saved; });
  return result;
}

class CheckpointFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "walpost-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ / "checkpoint"; }

  std::string Bytes() const {
    std::ifstream file(Path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  void ExpectDataLoss(const std::string& what) {
    CheckpointFile store(Path());
    const absl::Status status = Load(store).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path()));
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  void ExpectFailedPrecondition(const std::string& path,
                                const std::string& remedy) {
    ExpectError(absl::StatusCode::kFailedPrecondition, path, remedy);
  }
  void ExpectError(absl::StatusCode code, const std::string& path,
                   const std::string& remedy) {
    CheckpointFile store(path);
    for (const absl::Status& status :
         {Load(store).status(), Save(store, Example())}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(path));
      EXPECT_THAT(std::string(status.message()), HasSubstr(remedy));
    }
  }

  std::filesystem::path folder_;
};

TEST_F(CheckpointFileTest, LoadsNothingWhereNothingWasSaved) {
  CheckpointFile store(Path());
  const auto loaded = Load(store);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, std::nullopt);
}

TEST_F(CheckpointFileTest, LoadsWhatWasSavedLast) {
  CheckpointFile store(Path());
  EXPECT_TRUE(Save(store, Example(0x17'0000)).ok());
  EXPECT_TRUE(Save(store, Example(0x18'0000)).ok());
  EXPECT_EQ(**Load(store), Example(0x18'0000));
}

TEST_F(CheckpointFileTest, SurvivesTheStore) {
  {
    CheckpointFile store(Path());
    EXPECT_TRUE(Save(store, Example()).ok());
  }
  CheckpointFile store(Path());
  EXPECT_EQ(**Load(store), Example());
}

TEST_F(CheckpointFileTest, LeavesNothingElseBehind) {
  CheckpointFile store(Path());
  EXPECT_TRUE(Save(store, Example()).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, UnorderedElementsAre("checkpoint", "checkpoint.lock"));
}

TEST_F(CheckpointFileTest, TakesAPathWithoutAFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  CheckpointFile store("checkpoint");
  EXPECT_TRUE(Save(store, Example()).ok());
  std::filesystem::current_path(before);
  EXPECT_EQ(Bytes(), EncodeCheckpoint(Example()));
}

// A crash before the rename: the one before counts.
TEST_F(CheckpointFileTest, IgnoresAndReplacesALeftoverOfACrash) {
  {
    CheckpointFile store(Path());
    EXPECT_TRUE(Save(store, Example()).ok());
  }
  Put("checkpoint.tmp", std::string(1000, 'x'));
  CheckpointFile store(Path());
  EXPECT_EQ(**Load(store), Example());
  EXPECT_TRUE(Save(store, Example(0x19'0000)).ok());
  EXPECT_EQ(**Load(store), Example(0x19'0000));
  EXPECT_FALSE(std::filesystem::exists(Path() + ".tmp"));
}

TEST_F(CheckpointFileTest, ATornFileIsDataLossWhereverItIsTorn) {
  const std::string whole = EncodeCheckpoint(Example());
  for (size_t size = 0; size < whole.size(); ++size) {
    Put("checkpoint", whole.substr(0, size));
    ExpectDataLoss("mv ");
  }
}

TEST_F(CheckpointFileTest, ACorruptedFileIsDataLoss) {
  std::string bytes = EncodeCheckpoint(Example());
  bytes[20] = static_cast<char>(bytes[20] ^ 4);
  Put("checkpoint", bytes);
  ExpectDataLoss("checksum");
}

TEST_F(CheckpointFileTest, AnUnknownVersionIsDataLoss) {
  std::string bytes = EncodeCheckpoint(Example());
  bytes[4] = 2;
  Put("checkpoint", bytes);
  ExpectDataLoss("version 2");
}

TEST_F(CheckpointFileTest, AFileOfSomethingElseIsDataLoss) {
  Put("checkpoint", "key: value\n");
  ExpectDataLoss("do not begin");
  Put("checkpoint", "WPCK" + std::string(1 << 20, '\0'));
  ExpectDataLoss("bytes");
}

TEST_F(CheckpointFileTest, ABrokenFileIsReplacedByTheNextSave) {
  Put("checkpoint", "WPC");
  CheckpointFile store(Path());
  EXPECT_TRUE(Save(store, Example()).ok());
  EXPECT_EQ(**Load(store), Example());
}

TEST_F(CheckpointFileTest, ASecondHolderWaitsAndTheFirstIsNamed) {
  CheckpointFile first(Path());
  EXPECT_TRUE(Save(first, Example()).ok());
  constexpr auto kLater = absl::StatusCode::kUnavailable;
  ExpectError(kLater, Path(), "process " + std::to_string(getpid()));
  ExpectError(kLater, Path(), Path() + ".lock");
  EXPECT_EQ(Bytes(), EncodeCheckpoint(Example()));
}

TEST_F(CheckpointFileTest, TheLockGoesWithItsHolder) {
  const pid_t child = fork();
  if (child == 0) {
    CheckpointFile store(Path());
    _exit(Save(store, Example()).ok() ? 0 : 1);  // as a crash: no destructor
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  CheckpointFile store(Path());
  EXPECT_EQ(**Load(store), Example());
}

TEST_F(CheckpointFileTest, TakesTheLockWhenTheHolderHasGone) {
  auto first = std::make_unique<CheckpointFile>(Path());
  CheckpointFile second(Path());
  EXPECT_TRUE(Save(*first, Example()).ok());
  EXPECT_FALSE(Save(second, Example()).ok());
  first.reset();
  EXPECT_TRUE(Save(second, Example(0x17'0000)).ok());
}

TEST_F(CheckpointFileTest, AMissingFolderNamesTheRemedy) {
  ExpectFailedPrecondition(folder_ / "none" / "checkpoint",
                           "mkdir -p " + (folder_ / "none").string());
  Put("file", "");
  ExpectFailedPrecondition(folder_ / "file" / "checkpoint",
                           "correct checkpoint.path");
}

TEST_F(CheckpointFileTest, AFolderInItsPlaceNamesTheRemedy) {
  std::filesystem::create_directory(Path());
  ExpectFailedPrecondition(Path(), "must name a file");
}

// In a child that gives up root, who may write everywhere.
TEST_F(CheckpointFileTest, AFolderWithoutTheRightNamesTheRemedy) {
  chmod(folder_.c_str(), 0555);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    ExpectFailedPrecondition(Path(), "write to folder " + folder_.string());
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  chmod(folder_.c_str(), 0755);
}

}  // namespace
}  // namespace walpost

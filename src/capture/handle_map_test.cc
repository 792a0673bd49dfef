#include "capture/handle_map.h"

#include <gtest/gtest.h>

namespace flowscope::capture {
namespace {

// Never looked into: addresses only.
TFE_TensorHandle* At(uintptr_t address) { return reinterpret_cast<TFE_TensorHandle*>(address); }

constexpr KnownHandle kFirst{1, EdgeClass::kOp};
constexpr KnownHandle kSecond{2, EdgeClass::kOp};

TEST(HandleMapTest, AnUnheldHandleIsForgottenWithItsLastReference) {
  HandleMap map;
  map.InsertUnheld(At(8), kFirst);
  map.OnCopy(At(8), At(8));
  map.OnDelete(At(8));
  EXPECT_TRUE(map.Find(At(8)));
  map.OnDelete(At(8));
  EXPECT_FALSE(map.Find(At(8)));
}

TEST(HandleMapTest, AHeldHandleStays) {
  HandleMap map;
  map.InsertHeld(At(8), kFirst);
  map.OnDelete(At(8));
  map.OnDelete(At(8));
  EXPECT_EQ(map.Find(At(8))->tensor, 1u);
}

TEST(HandleMapTest, WatchesOnlyWhileSomethingIsCounted) {
  const int before = HandleMap::NumWatching();
  {
    HandleMap map;
    map.InsertHeld(At(8), kFirst, true);
    EXPECT_EQ(HandleMap::NumWatching(), before);
    map.InsertUnheld(At(16), kSecond);
    EXPECT_EQ(HandleMap::NumWatching(), before + 1);
    map.OnDelete(At(16));
    EXPECT_EQ(HandleMap::NumWatching(), before);
    map.InsertUnheld(At(16), kSecond);
  }
  EXPECT_EQ(HandleMap::NumWatching(), before);
}

TEST(HandleMapTest, AReleasedHandleThatNobodyHasIsForgotten) {
  HandleMap map;
  map.CountFresh();
  map.InsertHeld(At(8), kFirst, true);
  map.OnDelete(At(8));  // TensorFlow's caller is done; we hold it
  EXPECT_TRUE(map.Find(At(8)));
  map.Release(At(8));
  EXPECT_FALSE(map.Find(At(8)));
}

TEST(HandleMapTest, AReleasedHandleThatTheProgramHasIsKnownUntilItsLastReference) {
  HandleMap map;
  map.CountFresh();
  map.InsertHeld(At(8), kFirst, true);
  map.OnCopy(At(8), At(8));
  map.Release(At(8));
  map.OnDelete(At(8));
  EXPECT_EQ(map.Find(At(8))->tensor, 1u);
  map.OnDelete(At(8));
  EXPECT_FALSE(map.Find(At(8)));
}

TEST(HandleMapTest, WhatIsKeptLateGoesOnBeingCounted) {
  HandleMap map;
  map.CountFresh();
  map.InsertUnheld(At(8), kFirst);
  map.InsertHeld(At(8), kFirst);
  map.OnDelete(At(8));
  EXPECT_TRUE(map.Find(At(8)));
  map.Release(At(8));
  EXPECT_FALSE(map.Find(At(8)));
}

TEST(HandleMapTest, ACopyAtAnotherAddressReplacesWhatWasKnownThere) {
  HandleMap map;
  map.InsertUnheld(At(8), kFirst);
  map.InsertHeld(At(16), kSecond);
  map.OnCopy(At(8), At(16));
  EXPECT_EQ(map.Find(At(16))->tensor, 1u);
  map.OnDelete(At(16));
  EXPECT_FALSE(map.Find(At(16)));
}

}  // namespace
}  // namespace flowscope::capture

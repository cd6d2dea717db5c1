// A host of 96 cores on several memory nodes, on however many this machine has: trees, node memory, plans of all
// widths.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <mutex>
#include <set>

#include "lib/exec/compiled_plan.h"
#include "partitiontuner/backend/devices.h"
#include "test/exec/session_setting.h"

namespace pt::testing::big_host_test {
namespace {

constexpr uint32_t kCores = 96;

// "cpu[0-23]" and so on: a unit of each node's cores, besides single cores, neighbours and all.
Platform BigHost(uint32_t nodes) {
  Platform platform = MakeTestPlatform(kCores, false);
  const uint32_t each = kCores / nodes;
  const std::string class_name = "cpu/" + std::to_string(each);
  platform.unit_classes.push_back({class_name, DeviceId(0u), each});
  const UnitClassId unit_class(platform.unit_classes.size() - 1);
  for (uint32_t node = 0; node < nodes; ++node) {
    Unit unit;
    unit.name = "cpu[" + std::to_string(node * each) + "-" + std::to_string(node * each + each - 1) + "]";
    unit.unit_class = unit_class;
    for (uint32_t core = node * each; core < (node + 1) * each; ++core) {
      platform.resources[core].node = node;
      unit.uses.emplace_back(ResourceId(core), 1.0);
    }
    platform.units.push_back(std::move(unit));
  }
  return platform;
}

// The host's driver, which notes what was wished onto which node.
class NotingHost : public DeviceDriver {
 public:
  struct Wish {
    void* data;
    uint64_t offset, bytes;
    uint32_t node;
  };
  explicit NotingHost(std::vector<Wish>& wishes) : wishes_(wishes) {}
  DeviceId id() const override { return DeviceId(0u); }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override { return host_->Allocate(bytes); }
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return host_->AllocateHost(bytes); }
  void PlaceNear(DeviceBuffer& buffer, uint64_t offset, uint64_t bytes, uint32_t node) override {
    {
      const std::lock_guard lock(mutex_);  // kernels are compiled side by side
      wishes_.push_back({buffer.data(), offset, bytes, node});
    }
    host_->PlaceNear(buffer, offset, bytes, node);
  }
  Result<std::unique_ptr<Stream>> MakeStream() override { return host_->MakeStream(); }
  Result<std::unique_ptr<Event>> MakeEvent() override { return host_->MakeEvent(); }
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override {
    return host_->EnqueueCopy(stream, to, from, bytes, direction, peer);
  }

 private:
  std::mutex mutex_;
  std::vector<Wish>& wishes_;
  std::unique_ptr<DeviceDriver> host_ = MakeHostDriver(DeviceId(0u));
};

struct BigSetting : Setting {
  std::vector<NotingHost::Wish> wishes;

  explicit BigSetting(uint32_t nodes) {
    std::vector<std::unique_ptr<DeviceDriver>> drivers;
    drivers.push_back(std::make_unique<NotingHost>(wishes));
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(MakeFakeLibrary(control));
    machine = Machine::Assemble(BigHost(nodes), std::move(drivers), std::move(libraries)).value();
  }
};

}  // namespace

TEST_CASE("BigHost, UnitsOfOneNodeHaveAHomeAndWiderOnesHaveNone", "[exec]") {
  const Platform platform = BigHost(4);
  CHECK(HomeNode(platform, FindUnit(platform, "cpu[0]")) == 0u);
  CHECK(HomeNode(platform, FindUnit(platform, "cpu[95]")) == 3u);
  CHECK(HomeNode(platform, FindUnit(platform, "cpu[24-47]")) == 1u);
  CHECK(HomeNode(platform, FindUnit(platform, "cpu[22-23]")) == 0u);
  CHECK_FALSE(HomeNode(platform, FindUnit(platform, "cpu[23-24]")).has_value());
  CHECK_FALSE(HomeNode(platform, FindUnit(platform, "cpu[0-95]")).has_value());
  const Platform flat = MakeTestPlatform(4, true);
  for (size_t i = 0; i < flat.units.size(); ++i) CHECK_FALSE(HomeNode(flat, UnitId(i)).has_value());
}

TEST_CASE("BigHost, RandomPlansOn96CoresGiveTheResultOfOneLoop", "[exec]") {
  const uint32_t nodes = GENERATE(2u, 4u);
  CAPTURE(nodes);
  std::mt19937 random(nodes);
  BigSetting setting(nodes);
  setting.graph = MakeRandomGraph(random, 40, 97);
  const Platform& platform = setting.machine->platform();
  const std::vector<UnitId> wide = {FindUnit(platform, "cpu[0-95]"), UnitId(platform.units.size() - 1),
                                    UnitId(platform.units.size() - 2)};
  for (int i = 0; i < 3; ++i) {
    std::vector<UnitId> units = RandomUnits(*setting.graph, platform, random);
    for (UnitId& unit : units) {
      if (random() % 3 == 0) unit = wide[random() % wide.size()];
    }
    const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units));
    for (int run = 0; run < 2; ++run) CHECK(RunsRight(*session, static_cast<float>(run)));
  }
  CHECK(setting.control.wrong_team.load() == 0);
}

TEST_CASE("BigHost, TensorsOfTwoNodesShareNoPageAndLieOnTheirNode", "[exec]") {
  const uint32_t nodes = GENERATE(2u, 4u);
  CAPTURE(nodes);
  std::mt19937 random(nodes + 10);
  BigSetting setting(nodes);
  setting.graph = MakeRandomGraph(random, 60, 5000);
  const Platform& platform = setting.machine->platform();
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, platform, random));
  std::map<InstanceId, std::optional<uint32_t>> home;
  for (const Step& step : plan.steps) {
    for (InstanceId out : std::get<RunGroup>(step.work).out) home[out] = HomeNode(platform, step.unit);
  }
  constexpr uint64_t kPage = 64 << 10;
  const Arena& arena = plan.memory.at(DeviceId(0u));
  std::map<uint64_t, std::set<std::optional<uint32_t>>> on_page;
  for (const Placement& placement : arena.placements) {
    for (uint64_t page = placement.offset / kPage; page <= (placement.offset + placement.bytes - 1) / kPage; ++page) {
      on_page[page].insert(home.at(placement.instance));
    }
  }
  uint64_t first_home_page = 0;  // behind what has no home
  for (const auto& [page, homes] : on_page) {
    if (homes.size() > 1 || !*homes.begin()) first_home_page = page + 1;
  }
  // A result may lie in place of what a unit of another node wrote: such bytes have no home. Others share no page with
  // those of another node.
  std::set<uint32_t> used;
  for (const auto& [page, homes] : on_page) {
    if (homes.size() == 1 && *homes.begin()) used.insert(**homes.begin());
  }
  CHECK(used.size() == nodes);
  const std::unique_ptr<Session> session = setting.Create(plan);
  CHECK(setting.wishes.size() >= nodes);
  std::set<uint32_t> wished;
  int strangers = 0;
  for (const NotingHost::Wish& wish : setting.wishes) {
    wished.insert(wish.node);
    for (uint64_t page = wish.offset / kPage; page <= (wish.offset + wish.bytes - 1) / kPage; ++page) {
      const auto found = on_page.find(page);
      if (found == on_page.end() || found->second == std::set<std::optional<uint32_t>>{wish.node}) continue;
      // Only the pages of what has no home may hold several.
      if (wish.offset >= first_home_page * kPage) ++strangers;
    }
  }
  CHECK(strangers == 0);
  CHECK(wished == used);
  CHECK(RunsRight(*session, 1));
}

TEST_CASE("BigHost, PackedConstantsHaveOneCopyANode", "[exec]") {
  BigSetting setting(4);
  setting.graph = Parse(
      "input x float32[8]\n"
      "a = Mix(x) packed=7 : float32[8]\nb = Mix(x) packed=7 : float32[8]\nc = Mix(x) packed=7 : float32[8]\n"
      "d = Mix(x) packed=7 : float32[8]\ny = Mix(a, b, c, d) packed=8 : float32[8]\noutput y\n");
  const Platform& platform = setting.machine->platform();
  std::vector<UnitId> units;
  for (const char* unit : {"cpu[0]", "cpu[0-23]", "cpu[95]", "cpu[72-95]", "cpu[0-95]"}) {
    units.push_back(FindUnit(platform, unit));
  }
  const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units));
  CHECK(setting.control.packed.load() == 3);  // 7 near node 0 and near node 3, 8 near none
  std::multiset<uint32_t> near;
  for (const NotingHost::Wish& wish : setting.wishes) {
    if (wish.bytes == 64 << 10) near.insert(wish.node);
  }
  CHECK(near == std::multiset<uint32_t>{0, 3});
  CHECK(RunsRight(*session, 1));
}

}  // namespace pt::testing::big_host_test

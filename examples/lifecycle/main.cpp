//===- main.cpp - Speculative decoding over the life of some requests -----===//
//
// Four layers, three rows. Requests begin with a prefilled state, decode ragged
// windows of which some, all or no tokens are accepted, flush because a ring is
// full, because they are told to, or because a snapshot is due; they end, and
// others take over their slots. Everything runs twice, launch by launch and as
// captured graphs, and is checked against the recurrence in double precision.
//
//===----------------------------------------------------------------------===//
#include "Life.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace lifecycle;
using replayssm::Device;
using replayssm::Status;
using replayssm::StatusCode;

namespace {

//===----------------------------------------------------------------------===//
// The story
//===----------------------------------------------------------------------===//

Status live(Life &life) {
  auto a = life.begin(/*stateSlot=*/1, /*ringSlot=*/0), b = life.begin(3, 2);
  if (!a || !b)
    return a ? b.status() : a.status();
  Row idle{nullptr, 2}; // two tokens of nobody
  const std::vector<Row> first[] = {
      {{&*a, 3, 3}, {&*b, 1, 1}, idle},
      {{&*a, 3, 0}, {&*b, 3, 1}, idle},        // no draft and no token of a is accepted
      {{&*a, 2, 2}, {&*b, 3, 3}, {}},
      {{&*a, 3, 3}, {&*b, 0, 0}, idle},        // a's ring is full
      {idle, {&*b, 3, 0, true}, {&*a, 1, 1}},  // b is told to flush; rows may change places
      {{&*a, 3, 3, false, 1, 4}, {&*b, 2, 1}, {}}, // a snapshot behind two of a's three tokens
  };
  for (const std::vector<Row> &plan : first)
    RSSM_RETURN_IF_ERROR(life.forward(plan));
  // b has ended: c takes over its slots. d goes on from a's snapshot.
  auto c = life.begin(3, 2), d = life.beginFromSnapshot(4, 1);
  if (!c || !d)
    return c ? d.status() : c.status();
  life.events.reused += 2;
  for (int i = 0; i < 14; ++i) {
    std::vector<Row> plan = {life.randomRow(*a), life.randomRow(*c), life.randomRow(*d)};
    if (i % 4 == 3) {
      plan[2].trackStep = 0;
      plan[2].trackSlot = 0;
    }
    RSSM_RETURN_IF_ERROR(life.forward(plan));
  }
  const Events &e = life.events;
  for (int events : {e.full, e.partial, e.none, e.natural, e.forced, e.snapshots, e.reused})
    if (events == 0)
      return {StatusCode::Internal, "expected every kind of event to happen"};
  return Status::ok();
}

Status run(const Device &device) {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<Params> params(layers);
  for (int layer = 0; layer < layers; ++layer) {
    for (int64_t i = 0; i < HV; ++i)
      params[layer].aLog.push_back(std::log(0.2f + uniform(rng)));
    for (int64_t i = 0; i < HV * gates(layer); ++i)
      params[layer].dtBias.push_back(-3 + 2 * uniform(rng));
  }
  auto direct = Engine::create(device, params, /*captured=*/false);
  auto graphs = Engine::create(device, params, /*captured=*/true);
  if (!direct || !graphs)
    return direct ? graphs.status() : direct.status();
  Life life(*direct, *graphs, params, 11);
  RSSM_RETURN_IF_ERROR(live(life));
  const Events &e = life.events;
  std::printf("%d layers on %s: %d forwards, rows accepted in full %d, in part %d, not at all %d; flushes %d full, "
              "%d forced; %d snapshots, %d slots reused; outputs within %.1e, states within %.1e; graphs give the "
              "same bits\n",
              layers, device.name().c_str(), e.forwards, e.full, e.partial, e.none, e.natural, e.forced, e.snapshots,
              e.reused, life.outError, life.stateError);
  return Status::ok();
}

} // namespace

int main(int argc, char **argv) {
  bool wantsHost = argc > 1 && std::strcmp(argv[1], "host") == 0;
  replayssm::Result<Device> device = Device::openCuda();
  if (wantsHost || device.status().code() == StatusCode::Unavailable)
    device = Device::openHost();
  Status status = device ? run(*device) : device.status();
  if (!status)
    std::fprintf(stderr, "lifecycle: %s\n", status.str().c_str());
  return status ? 0 : 1;
}

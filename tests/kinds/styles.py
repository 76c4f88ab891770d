"""Right programs as other people write them, and wrong ones that were once taken for right."""

RIGHT: dict[str, list[str]] = {
    "diagnosis/write-the-culprit": [
        """
from collections import Counter
def culprit(records):
    at = [{n: (op, size) for n, op, size, state in rows if state in ("started", "completed")} for rows in records]
    last = [max(calls) if calls else float("-inf") for calls in at]
    if min(last) != max(last):
        return "behind", [r for r in range(len(at)) if last[r] != max(last)]
    for n in sorted(set().union(*at)):
        (usual, _), *others = Counter(calls[n] for calls in at if n in calls).most_common()
        if others:
            return "mismatch", [r for r, calls in enumerate(at) if calls.get(n, usual) != usual]
    return "together", []
""",
        """
def culprit(records):
    ranks, top = range(len(records)), []
    for rows in records:
        top.append(-1)
        for row in rows:
            if row[3] != "scheduled" and row[0] > top[-1]:
                top[-1] = row[0]
    late = [r for r in ranks if any(t > top[r] for t in top)]
    if late:
        return ["behind", late]
    for n in range(top[0] + 1):
        seen = [next((row[1:3] for row in records[r] if row[0] == n and row[3] != "scheduled"), None) for r in ranks]
        known = [s for s in seen if s is not None]
        odd = [r for r in ranks if seen[r] is not None and 2 * known.count(seen[r]) < len(known)]
        if odd:
            return ["mismatch", odd]
    return ["together", []]
""",
    ],
    "collectives/write-ring-time": [
        """
def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):
    total = 0
    for phase in ("reduce-scatter", "all-gather"):
        for step in range(n - 1):
            total += 1000 * size_gb / (n * bw_gb_s) + latency_us * 1e-3
    return total
""",
        """
def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):
    if n == 1:
        return 0
    return 2 * (n - 1) / n * size_gb * 1e9 / (bw_gb_s * 1e9) * 1e3 + 2 * (n - 1) * latency_us / 1000
""",
        "ring_allreduce_ms = lambda s, n, b, l: sum(s / n / b * 1e3 + l / 1e3 for _ in range(2 * n - 2))",
    ],
    "networks/write-the-crossings": [
        """
def crossings(order, per_node):
    found = 0
    for place in range(len(order)):
        if order[place - 1] // per_node != order[place] // per_node:
            found += 1
    return found
""",
        """
from itertools import cycle, islice
def crossings(order, per_node):
    after = islice(cycle(order), 1, len(order) + 1)
    return len([1 for a, b in zip(order, after) if int(a / per_node) != int(b / per_node)])
""",
    ],
    "memory/write-zero-memory": [
        """
def zero_memory_gb(params_b, n, stage, bytes=(2, 2, 12)):
    shards = [n if stage >= first else 1 for first in (3, 2, 1)]
    return sum(params_b * size / parts for size, parts in zip(bytes, shards))
""",
        """
def zero_memory_gb(params_b, n, stage, bytes=(2, 2, 12)):
    w, g, o = (params_b * 1e9 * b for b in bytes)
    total = w / n if stage == 3 else w
    total += g / n if stage > 1 else g
    total += o if stage == 0 else o / n
    return total / 10**9
""",
    ],
    "accumulation/write-accumulation-steps": [
        "import math\ndef required_accum(target, micro, dp):\n    return math.ceil(target / (micro * dp))",
        "def required_accum(target, micro, dp):\n    return -(-target // (micro * dp))",
        "def required_accum(target, micro, dp):\n    return float(-(-target // (micro * dp)))",
        "from math import floor\ndef required_accum(target, micro, dp):\n    return floor((target - 1) / (micro * dp)) + 1",
        """
def required_accum(target, micro, dp):
    steps = 0
    while steps * micro * dp < target:
        steps += 1
    return steps
""",
    ],
    "overlap/write-the-ratio": [
        """
def comm_compute_ratio(params_b, n, bw_gb_s, tflop_per_gpu_step, gpu_tflops):
    gigabytes = params_b * 16 / 8
    sent = sum(gigabytes / n for _ in range(2 * (n - 1)))
    return sent / bw_gb_s * gpu_tflops / tflop_per_gpu_step
"""
    ],
    "tensor/write-the-split": [
        """
def row_parallel(x, w, ranks):
    block = len(x) // ranks
    results = []
    for r in range(ranks):
        total = [0.0] * len(w[0])
        for i in range(r * block, r * block + block):
            for j, value in enumerate(w[i]):
                total[j] += x[i] * value
        results.append(total)
    return results
""",
        """
import math
def row_parallel(x, w, ranks):
    h = math.floor(len(w) / ranks)
    cut = [(x[i:i + h], w[i:i + h]) for i in range(0, len(w), h)]
    return tuple(tuple(sum(a * b for a, b in zip(xs, c)) for c in zip(*ws)) for xs, ws in cut)
""",
    ],
    "checkpoints/write-the-interval": [
        """
from math import sqrt
def optimal_checkpoint(mtbf_h, ckpt_s):
    mtbf = mtbf_h * 3600
    return [sqrt(2 * ckpt_s * mtbf) / 60, 100 * sqrt(2 * ckpt_s / mtbf)]
"""
    ],
    "precision/write-loss-scale": [
        """
def dynamic_loss_scale(overflows, init, interval):
    scale = float(init)
    good = 0
    for bad in overflows:
        good = 0 if bad else good + 1
        if bad:
            scale *= 0.5
        elif good % interval == 0:
            scale, good = 2 * scale, 0
    return scale
""",
        """
def dynamic_loss_scale(overflows, init, interval):
    power, clean = 0, 0
    for overflow in overflows:
        if overflow:
            power -= 1
            clean = 0
        else:
            clean = (clean + 1) % interval
            power += clean == 0
    return init * 2 ** power
""",
    ],
    "optimizers/write-the-noise-scale": [
        """
def noise_scale(gradients, batch):
    n, places = len(gradients), range(len(gradients[0]))
    means = [sum(g[i] for g in gradients) / n for i in places]
    variance = sum((g[i] - means[i]) ** 2 for g in gradients for i in places) / (n - 1)
    noise = variance * batch
    signal = sum(m ** 2 for m in means) - noise / (batch * n)
    if signal <= 0:
        return None
    return noise / signal
""",
        """
def noise_scale(gradients, batch):
    n = len(gradients)
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    own = sum(dot(g, g) for g in gradients) / n
    pairs = [dot(a, b) for i, a in enumerate(gradients) for b in gradients[:i]]
    signal = sum(pairs) / len(pairs)
    if signal > 0:
        return batch * (own - signal) / signal
""",
    ],
    "precision/write-mxfp4": [
        """
import math
def quantize(block):
    top = max(map(abs, block))
    e = math.floor(math.log2(top)) - 2 if top else 0
    out = []
    for v in block:
        x = abs(v) / 2.0 ** e
        step = 0.5 if x < 2 else 1 if x < 4 else 2
        out.append(math.copysign(min(6, step * round(x / step)) * 2.0 ** e, v))
    return e, out
""",
        """
EDGES = [(0.25, 0), (0.75, 0.5), (1.25, 1), (1.75, 1.5), (2.5, 2), (3.5, 3), (5, 4)]
def quantize(block):
    biggest, power = max(abs(v) for v in block), 0
    while biggest and biggest / 2.0 ** power >= 8:
        power += 1
    while biggest and biggest / 2.0 ** power < 4:
        power -= 1
    def element(x):
        for place, (edge, value) in enumerate(EDGES):
            if x < edge or x == edge and place % 2 == 0:
                return value
        return 6
    signs = [1 if v >= 0 else -1 for v in block]
    return [power, [s * element(s * v / 2.0 ** power) * 2.0 ** power for s, v in zip(signs, block)]]
""",
    ],
    "capstone/write-a-check": [
        """
def problems(gpus, tp, cp, pp, dp, kv_heads, tokens, batch, sequence):
    broken = 0
    if gpus != tp * cp * pp * dp:
        broken += 1
    if tp > 8:
        broken += 1
    if kv_heads / tp != kv_heads // tp:
        broken += 1
    if tokens / (batch * sequence) != dp:
        broken += 1
    return broken
""",
        """
def problems(gpus, tp, cp, pp, dp, kv_heads, tokens, batch, sequence):
    return float(sum([gpus - tp * cp * pp * dp != 0, not tp <= 8, bool(kv_heads % tp),
                      dp * batch * sequence != tokens]))
""",
    ],
    "meshes/write-the-coordinates": [
        """
def rank_to_coords(rank, tp, cp, pp, dp):
    return [rank % tp, rank // tp % cp, rank // (tp * cp) % pp, rank // (tp * cp * pp)]
""",
        """
import math
def rank_to_coords(rank, tp, cp, pp, dp):
    coords = []
    for size in [tp, cp, pp, dp]:
        rank, place = divmod(float(rank), size)
        coords += [math.floor(place)]
    return tuple(coords)
""",
    ],
    "serving/write-best-draft": [
        """
def best_draft(acceptance, cost, longest):
    speeds = []
    for drafted in range(longest + 1):
        powers = [acceptance ** i for i in range(drafted + 1)]
        speeds.append(sum(powers) / (1 + drafted * cost))
    return speeds.index(max(speeds))
""",
        """
def best_draft(acceptance, cost, longest):
    def speed(g):
        tokens = g + 1 if acceptance == 1 else (1 - acceptance ** (g + 1)) / (1 - acceptance)
        return tokens / (1 + g * cost)
    return max(range(longest + 1), key=speed)
""",
    ],
    "serving/write-the-queue": [
        """
def steps(lengths, slots):
    static = 0
    group = []
    for length in lengths:
        group.append(length)
        if len(group) == slots:
            static += max(group)
            group = []
    static += max(group, default=0)
    waiting, running, clock = list(lengths), [], 0
    while waiting or running:
        while waiting and len(running) < slots:
            running.append(waiting.pop(0))
        running = [left - 1 for left in running if left > 1]
        clock += 1
    return [static, clock]
""",
        """
import heapq
def steps(lengths, slots):
    groups = [lengths[i:i + slots] for i in range(0, len(lengths), slots)]
    free = [0] * slots
    for length in lengths:
        heapq.heappush(free, heapq.heappop(free) + length)
    return [sum(map(max, groups)), max(free)]
""",
    ],
    "algebra/write-the-collective": [
        """
def collective(have, want):
    match have, want:
        case a, b if a == b:
            return "none"
        case _, "P":
            return "impossible"
        case "P", "R":
            return "all-reduce"
        case "P", _:
            return "reduce-scatter"
        case "R", _:
            return "keep"
        case _, "R":
            return "all-gather"
    return "all-to-all"
""",
        """
TABLE = {"PR": "all-reduce", "PS": "reduce-scatter", "RS": "keep", "SR": "all-gather", "SS": "all-to-all"}
def collective(have, want):
    return "none" if have == want else TABLE.get(have[:1] + want[:1], "impossible")
""",
    ],
    "context/write-the-ring-time": [
        """
def ring_time(owner, ranks):
    steps = [[0] * ranks for _ in range(ranks)]
    for i, r in enumerate(owner):
        for j, k in enumerate(owner[: i + 1]):
            steps[(r - k) % ranks][r] += 1 if j < i else 1 / 2
    return sum(map(max, steps))
""",
        """
def cost(queries, keys):
    return sum((j < i) + (j <= i) for i in queries for j in keys) / 2
def ring_time(owner, ranks):
    mine = {r: [] for r in range(ranks)}
    for i, r in enumerate(owner):
        mine[r].append(i)
    time, keys = 0, dict(mine)
    for _ in range(ranks):
        time += max(cost(mine[r], keys[r]) for r in mine)
        keys = {(r + 1) % ranks: held for r, held in keys.items()}
    return time
""",
    ],
    "experts/write-the-bias": [
        """
def route(scores, bias, k):
    left, chosen = list(range(len(scores))), []
    for _ in range(k):
        best = max(left, key=lambda e: scores[e] + bias[e])
        left.remove(best)
        chosen.append(best)
    chosen.sort()
    kept = [scores[e] for e in chosen]
    return (chosen, [score / sum(kept) for score in kept])
""",
        """
import heapq
def route(scores, bias, k):
    pairs = [(-s - b, e) for e, (s, b) in enumerate(zip(scores, bias))]
    chosen = {e for _, e in heapq.nsmallest(k, pairs)}
    total = 0
    for e in chosen:
        total += scores[e]
    return [sorted(chosen), [scores[e] / total for e in sorted(chosen)]]
""",
    ],
    "attention/write-online-softmax": [
        """
import math
def attend(scores, values, block):
    m, l, o = -math.inf, 0, 0
    for i in range(0, len(scores), block):
        for s, v in zip(scores[i:i + block], values[i:i + block]):
            n = max(m, s)
            l, o, m = l * math.exp(m - n) + math.exp(s - n), o * math.exp(m - n) + math.exp(s - n) * v, n
    return o / l
""",
        """
from math import exp
def attend(scores, values, block):
    top = max(scores)
    weights = [exp(s - top) for s in scores]
    return sum(w * v for w, v in zip(weights, values)) / sum(weights)
""",
    ],
    "checkpoints/write-the-spares": [
        """
from math import exp, lgamma, log
def spares(mean, chance):
    below, count = 0.0, 0
    while True:
        below += exp(count * log(mean) - mean - lgamma(count + 1)) if mean else 1.0
        if below >= chance:
            return count
        count += 1
""",
        """
from decimal import Decimal
def spares(mean, chance):
    term = total = (-Decimal(mean)).exp()
    out = 0
    while total < Decimal(chance):
        out += 1
        term = term * Decimal(mean) / out
        total += term
    return out
""",
    ],
    "checkpoints/write-the-replay": [
        """
def finish(work, interval, cost, restart, failures):
    now, done, coming = 0, 0, list(failures)
    while done < work:
        piece = min(interval, work - done)
        end = now + piece + (cost if done + piece < work else 0)
        if coming and coming[0] < end:
            now = coming.pop(0) + restart
        else:
            now, done = end, done + piece
    return now
""",
        """
def finish(work, interval, cost, restart, failures):
    pieces = [interval + cost] * (-(-work // interval) - 1)
    pieces.append(work - interval * len(pieces))
    start, waiting = 0, sorted(failures, reverse=True)
    while pieces:
        if waiting and waiting[-1] < start + pieces[0]:
            start = waiting.pop() + restart
        else:
            start += pieces.pop(0)
    return start
""",
    ],
    "collectives/write-the-fit": [
        """
def fit(runs):
    weights = [1 / t**2 for _, t in runs]
    whole = sum(weights)
    s = sum(w * size for w, (size, _) in zip(weights, runs)) / whole
    m = sum(w * t for w, (_, t) in zip(weights, runs)) / whole
    across = sum(w * (size - s) * (t - m) for w, (size, t) in zip(weights, runs))
    along = sum(w * (size - s) ** 2 for w, (size, _) in zip(weights, runs))
    return m - across / along * s, along / across
""",
        """
from fractions import Fraction as F
def fit(runs):
    rows = [(1 / F(t), F(s) / F(t)) for s, t in runs]
    a, b, d = sum(x * x for x, y in rows), sum(x * y for x, y in rows), sum(y * y for x, y in rows)
    e, f = sum(x for x, y in rows), sum(y for x, y in rows)
    return [float((e * d - f * b) / (a * d - b * b)), float((a * d - b * b) / (a * f - b * e))]
""",
    ],
    "tensor/write-vocabulary-loss": [
        """
import math
def loss(shards, target):
    logits = sum(shards, [])
    top = max(logits)
    return math.log(math.fsum(math.exp(z - top) for z in logits)) - (logits[target] - top)
""",
        """
from math import exp, log, log1p
def loss(shards, target):
    so_far = None
    for part in shards:
        for z in part:
            if so_far is None:
                so_far = z
            else:
                high, low = max(so_far, z), min(so_far, z)
                so_far = high + log1p(exp(low - high))
    for part in shards:
        if target < len(part):
            return so_far - part[target]
        target -= len(part)
""",
    ],
    "testtime/write-pass-at-k": [
        """
def pass_at_k(n, c, k):
    miss = 1.0
    for i in range(k):
        miss *= max(n - c - i, 0) / (n - i)
    return 1 - miss
""",
        """
from math import lgamma, exp
def pass_at_k(n, c, k):
    if n - c < k:
        return 1
    log = lambda a, b: lgamma(a + 1) - lgamma(b + 1) - lgamma(a - b + 1)
    return 1 - exp(log(n - c, k) - log(n, k))
""",
    ],
    "scaling/write-the-optimum": [
        """
from math import exp, log
def optimum(flops, A, B, alpha, beta):
    low, high = 0.0, log(flops / 6)
    for _ in range(200):  # where the slopes of both terms are equal, by halving
        middle = (low + high) / 2
        n = exp(middle)
        if alpha * A / n**alpha > beta * B / (flops / 6 / n)**beta:
            low = middle
        else:
            high = middle
    return [exp(low), flops / 6 / exp(low)]
""",
        """
def optimum(flops, A, B, alpha, beta):
    G = (alpha * A / beta / B) ** (1 / (alpha + beta))
    a, b = beta / (alpha + beta), alpha / (alpha + beta)
    return [G * (flops / 6) ** a, (flops / 6) ** b / G]
""",
    ],
    "scaling/write-the-isoflop": [
        """
import math
def best_size(runs):
    x1, x2, x3 = (math.log2(n) for n, _ in runs)
    y1, y2, y3 = (y for _, y in runs)
    first = (y2 - y1) / (x2 - x1)
    second = (y3 - y2) / (x3 - x2)
    p = (second - first) / (x3 - x1)
    q = first - p * (x1 + x2)
    return 2 ** (-q / (2 * p))
""",
        """
from math import exp, log
def best_size(runs):
    points = sorted((log(n), y) for n, y in runs)
    p = q = 0.0
    for i, (x, y) in enumerate(points):
        u, v = (points[j][0] for j in range(3) if j != i)
        p += y / (x - u) / (x - v)
        q -= y * (u + v) / (x - u) / (x - v)
    return exp(-q / 2 / p)
""",
    ],
    "rl/write-the-advantages": [
        """
from math import isclose, sqrt
def advantages(rewards):
    n, total, squares = len(rewards), sum(rewards), sum(r * r for r in rewards)
    variance = squares / n - (total / n) ** 2
    if all(isclose(r, rewards[0]) for r in rewards):
        return [0] * n
    return [(r - total / n) / sqrt(variance) for r in rewards]
""",
        """
import statistics
def advantages(rewards):
    if max(rewards) == min(rewards):
        return [0.0 for _ in rewards]
    mean, spread = statistics.mean(rewards), statistics.pstdev(rewards)
    return [(r - mean) / spread for r in rewards]
""",
    ],
}

CHECK = """
def problems(gpus, tp, cp, pp, dp, kv_heads, tokens, batch, sequence):
    return [{}, {}, {}, dp * batch * sequence == tokens].count(False)
"""
SCALE = """
def dynamic_loss_scale(overflows, init, interval):
    scale, clean = init, 0
    for overflow in overflows:
        if overflow:
            scale, clean = {}, 0
            continue
        clean += 1
        if clean == interval:
            scale, clean = scale * 2, 0
    return scale * 1.0
"""
ATTEND = """
from math import exp
def attend(scores, values, block):
    largest, total, weighted = {}, 0.0, 0.0
    for start in range(0, {}, block):
        part = scores[start:start + block]
        new = max(largest, max(part))
        shrink = exp(largest - new)
        weights = [exp(score - new) for score in part]
        total = total * shrink + sum(weights)
        weighted = weighted * shrink + sum(w * v for w, v in zip(weights, values[start:start + block]))
        largest = new
    return weighted / total
"""
PRODUCT = "tp * cp * pp * dp == gpus"
# Each of these was marked right at some seed.
REPLAY = """
def finish(work, interval, cost, restart, failures):
    now, done, coming = 0, 0, list(failures)
    while done < work:
        piece = min(interval, work - done)
        end = now + piece + (cost if {checkpointed} else 0)
        if coming and {fails}:
            now = coming.pop(0) + restart
            while coming and coming[0] < now:
                now = coming.pop(0) + restart
        else:
            now, done = end, done + piece
            {after}
    return now
"""
LASTS = "done + piece < work"
CULPRIT = """
def culprit(records):
    reached = [[row for row in rows if row[3] != "scheduled"] for rows in records]
    last = [max((row[0] for row in rows), default=-1) for rows in reached]
    top = max(last)
    behind = [rank for rank, number in enumerate(last) if {behind}]
    if behind:
        return ["behind", behind]
    for number in sorted({{row[0] for rows in reached for row in rows}}):
        calls = {{rank: {call} for rank, rows in enumerate(reached) for row in rows if row[0] == number}}
        made = list(calls.values())
        most = max(made, key=made.count)
        if made.count(most) < len(made):
            return ["mismatch", [rank for rank in calls if calls[rank] != most]]
    return ["together", []]
"""
ROUTE = """
def route(scores, bias, k):
    order = sorted(range(len(scores)), key=lambda e: (-{biased}, e))
    chosen = sorted(order[:k])
    total = sum(scores[e] for e in chosen)
    return [chosen, [scores[e] / total for e in chosen]]
"""
FIT = """
def fit(runs):
    uu = sum(1 / t / t for s, t in runs)
    uv = sum(s / t / t for s, t in runs)
    vv = sum(s * s / t / t for s, t in runs)
    u, v = sum(1 / t for s, t in runs), sum(s / t for s, t in runs)
    det = uu * vv - uv * uv
    return [{latency}, det / (v * uu - u * uv)]
"""
WRONG: list[tuple[str, str]] = [
    ("capstone/write-a-check", CHECK.format(PRODUCT, "tp <= 8", "tp % kv_heads == 0")),
    ("capstone/write-a-check", CHECK.format(PRODUCT, "tp < 8", "kv_heads % tp == 0")),
    ("capstone/write-a-check", CHECK.format("gpus // (tp * cp * pp) == dp", "tp <= 8", "kv_heads % tp == 0")),
    ("precision/write-loss-scale", SCALE.format("scale // 2")),
    ("precision/write-loss-scale", SCALE.format("max(1, scale / 2)")),
    ("attention/write-online-softmax", ATTEND.format("float('-inf')", "len(scores) - len(scores) % block")),
    ("attention/write-online-softmax", ATTEND.format("0.0", "len(scores)")),
    ("attention/write-online-softmax", ATTEND.format("-1000", "len(scores)")),
    ("attention/write-online-softmax", ATTEND.format("-1e9", "len(scores)")),
    # a failure at the moment at which the work is done loses the last piece
    ("checkpoints/write-the-replay", REPLAY.format(checkpointed=LASTS, fails="coming[0] <= end", after="pass")),
    # one at the moment at which a checkpoint is complete is overlooked
    (
        "checkpoints/write-the-replay",
        REPLAY.format(
            checkpointed=LASTS, fails="coming[0] < end", after="coming = [one for one in coming if one != now]"
        ),
    ),
    (
        "checkpoints/write-the-replay",
        REPLAY.format(checkpointed="work - done > interval + cost", fails="coming[0] < end", after="pass"),
    ),
    ("diagnosis/write-the-culprit", CULPRIT.format(behind="number < top", call="tuple(row[1:])")),
    ("diagnosis/write-the-culprit", CULPRIT.format(behind="number < max(top, 0)", call="(row[1], row[2])")),
    ("experts/write-the-bias", ROUTE.format(biased="scores[e] * (1 + bias[e])")),
    ("experts/write-the-bias", ROUTE.format(biased="max(0, scores[e] + bias[e])")),
    ("collectives/write-the-fit", FIT.format(latency="max(0, (u * vv - v * uv) / det)")),
    ("collectives/write-the-fit", FIT.format(latency="abs((u * vv - v * uv) / det)")),
]

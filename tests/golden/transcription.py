#!/usr/bin/env python3
"""An independent NumPy transcription of Vural, Ergut, Kozat (2020), used as the tests' oracle.

    python3 tests/golden/transcription.py              write <case>.json of new cases beside this file
    python3 tests/golden/transcription.py --check      regenerate and compare with the files (1e-12)
    python3 tests/golden/transcription.py --self-test  check derivatives, identities, conditioning

Everything is written the long way: dense matrices, the whole window propagated again at every step,
explicit inverses, double precision. Equation numbers are the paper's. Needs NumPy only.

Conventions
  theta    W, (4 n_s) x (n_x + n_s), row after row, gates in the order z, i, f, o, columns
           [x ; 1 ; y_{t-1}]; then W^d, n_d x (n_s + 1), whose last column multiplies a constant 1.
  cell     beside lstm: simple, y = tanh(W [x ; 1 ; y_{t-1}]), and feedforward, y = tanh(W [x ; 1]),
           with one row of W per unit; gru, gates in the order r, f, z: r and f of [x ; 1 ; y_{t-1}],
           z = tanh of [x ; 1 ; r y_{t-1}], y = f y_{t-1} + (1 - f) z.
  direct   W^d has a column more for each input, which multiplies x / sqrt(number of inputs).
  pekf     weights and state are corrected together; the state (c, y) is (y) where there is no c.
  t        the number of targets seen before this one (gated ones count, missing ones do not): the
           argument of every schedule.
  H_i = 0  a block on which d̂_t does not depend has gain 0 (and P_i gains q), also where the noise is
           0 as well: the limit of a vanishing noise. So it is in the forget gate at the first sample.
  missing  a sample without target is predicted and moves the network's state; nothing else changes.

Contents of a file, beside the options
  prediction  d̂_t, before learning from d_t
  status      "applied", "gated" or "missing" per sample; Algorithm 2 has instead
  applied     the number of experts that learnt from the sample (0 when missing)
  weights     Algorithm 2: the weights after the sample, summing to 1; empty for the other rules
  forecasts   made after `after` samples (missing ones counted), before the next one is seen
  trace_final Tr P after the last sample, summed over blocks and experts; 0 for first-order rules
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent


# --------------------------------------------------------------------------------------------------
# The network, eqs 1-7
# --------------------------------------------------------------------------------------------------


def logistic(a):
    return 1.0 / (1.0 + np.exp(-a))


class Network:
    """A hidden layer and an output layer. Holds sizes only; weights are passed in as theta."""

    def __init__(self, inputs, hidden, outputs, output_activation, cell="lstm", direct=False):
        self.n_x = inputs + 1  # the constant 1 is the last input
        self.n_s = hidden
        self.n_d = outputs
        self.output_activation = output_activation
        self.cell = cell
        self.direct = direct
        self.gates = {"lstm": 4, "gru": 3}.get(cell, 1)
        self.row = self.n_x + (0 if cell == "feedforward" else hidden)
        self.output_row = hidden + 1 + (inputs if direct else 0)
        self.n_gates = self.gates * hidden * self.row
        self.n_theta = self.n_gates + outputs * self.output_row

    def matrices(self, theta):
        """theta as W, (4 n_s) x (n_x + n_s) of an LSTM, and W^d, n_d x (n_s + 1 [+ inputs])."""
        W = theta[: self.n_gates].reshape(self.gates * self.n_s, self.row)
        Wd = theta[self.n_gates :].reshape(self.n_d, self.output_row)
        return W, Wd

    def step(self, theta, x, c_before, y_before):
        """Eqs 1-6 for one raw input; returns every intermediate value by name."""
        W, _ = self.matrices(theta)
        n_s = self.n_s
        u = np.concatenate([x, [1.0], y_before])[: self.row]
        if self.cell == "gru":
            r = logistic(W[:n_s] @ u)
            f = logistic(W[n_s : 2 * n_s] @ u)
            v = np.concatenate([x, [1.0], r * y_before])
            z = np.tanh(W[2 * n_s :] @ v)
            return {"x": x, "u": u, "v": v, "r": r, "f": f, "z": z, "c": c_before,
                    "y": f * y_before + (1.0 - f) * z, "y_before": y_before}
        a = W @ u
        if self.cell != "lstm":
            return {"x": x, "u": u, "c": c_before, "y": np.tanh(a)}
        z = np.tanh(a[:n_s])
        i = logistic(a[n_s : 2 * n_s])
        f = logistic(a[2 * n_s : 3 * n_s])
        o = logistic(a[3 * n_s :])
        c = i * z + f * c_before
        y = o * np.tanh(c)
        return {"x": x, "u": u, "z": z, "i": i, "f": f, "o": o, "c": c, "y": y,
                "c_before": c_before}

    def output_input(self, s):
        """What W^d multiplies after step s."""
        x = s["x"] / math.sqrt(len(s["x"])) if self.direct else []
        return np.concatenate([s["y"], [1.0], x])

    def output(self, theta, s):
        """Eq. 7 after step s, and the derivative of the output activation."""
        _, Wd = self.matrices(theta)
        a = Wd @ self.output_input(s)
        if self.output_activation == "tanh":
            return np.tanh(a), 1.0 - np.tanh(a) ** 2
        return a, np.ones_like(a)

    def unroll(self, theta, c, y, xs):
        """Steps through xs from the state (c, y) with one theta."""
        steps = []
        for x in xs:
            steps.append(self.step(theta, x, c, y))
            c, y = steps[-1]["c"], steps[-1]["y"]
        return steps

    def unrolled_output(self, theta, c, y, xs):
        """h_t(theta), eq. 9, over a window: d̂ after xs from the constant state (c, y)."""
        return self.output(theta, self.unroll(theta, c, y, xs)[-1])[0]

    def blocks(self, partition):
        """The indices into theta of every covariance block."""
        n_s, gates = self.n_s, self.gates
        index = np.arange(self.n_theta)
        if partition == "full":
            return [index]
        rows = list(index[: self.n_gates].reshape(gates * n_s, self.row))  # row g * n_s + unit
        output_rows = list(index[self.n_gates :].reshape(self.n_d, self.output_row))
        if partition == "node":
            return rows + output_rows
        if partition == "unit":
            units = [np.concatenate([rows[g * n_s + k] for g in range(gates)])
                     for k in range(n_s)]
            return units + output_rows
        if partition == "gate":
            matrices = [np.concatenate(rows[g * n_s : (g + 1) * n_s]) for g in range(gates)]
            return matrices + output_rows
        raise ValueError(partition)


# --------------------------------------------------------------------------------------------------
# H_t = d d̂_t / d theta, eq. 12 (and 16)
# --------------------------------------------------------------------------------------------------


def bptt_jacobian(network, theta, steps):
    """Back-propagation of every output through all steps; the state before them is a constant."""
    W, Wd = network.matrices(theta)
    n_x, n_s, n_d = network.n_x, network.n_s, network.n_d
    _, slope = network.output(theta, steps[-1])
    H = np.zeros((n_d, network.n_theta))
    for k in range(n_d):
        dW = np.zeros_like(W)
        dWd = np.zeros_like(Wd)
        dWd[k] = slope[k] * network.output_input(steps[-1])  # eq. 7
        dy = slope[k] * Wd[k, :n_s]
        dc = np.zeros(n_s)
        for s in reversed(steps):
            if network.cell == "gru":
                r, f, z, y_before = s["r"], s["f"], s["z"], s["y_before"]
                da_z = dy * (1.0 - f) * (1.0 - z**2)
                da_f = dy * (y_before - z) * f * (1.0 - f)
                dv = W[2 * n_s :].T @ da_z  # of [x ; 1 ; r y_before]
                da_r = dv[n_x:] * y_before * r * (1.0 - r)
                dW += np.concatenate([np.outer(da_r, s["u"]), np.outer(da_f, s["u"]),
                                      np.outer(da_z, s["v"])])
                du = W[: 2 * n_s].T @ np.concatenate([da_r, da_f])
                dy = dy * f + dv[n_x:] * r + du[n_x:]
                continue
            if network.cell != "lstm":
                da = dy * (1.0 - s["y"] ** 2)
                dW += np.outer(da, s["u"])
                if network.cell == "feedforward":
                    break  # y does not depend on steps before
                dy = (W.T @ da)[n_x:]
                continue
            tanh_c = np.tanh(s["c"])
            do = dy * tanh_c  # eq. 6
            dc = dc + dy * s["o"] * (1.0 - tanh_c**2)  # eq. 6
            dz = dc * s["i"]  # eq. 4
            di = dc * s["z"]  # eq. 4
            df = dc * s["c_before"]  # eq. 4
            da = np.concatenate(
                [
                    dz * (1.0 - s["z"] ** 2),  # eq. 1
                    di * s["i"] * (1.0 - s["i"]),  # eq. 2
                    df * s["f"] * (1.0 - s["f"]),  # eq. 3
                    do * s["o"] * (1.0 - s["o"]),  # eq. 5
                ]
            )
            dW += np.outer(da, s["u"])
            dy = (W.T @ da)[n_x:]
            dc = dc * s["f"]
        H[k] = np.concatenate([dW.ravel(), dWd.ravel()])
    return H


class Tbptt:
    """Back-propagation truncated to the last `window` inputs."""

    def __init__(self, network, window):
        self.network = network
        self.window = window
        self.c = np.zeros(network.n_s)  # the state before the retained inputs
        self.y = np.zeros(network.n_s)
        self.xs = []  # the retained inputs: at most window - 1 between two samples

    def forward(self, theta, x):
        """d̂_t and H_t with the current theta; moves the window on."""
        network = self.network
        self.xs.append(x)
        steps = network.unroll(theta, self.c, self.y, self.xs)
        d_hat, _ = network.output(theta, steps[-1])
        H = bptt_jacobian(network, theta, steps)
        if len(self.xs) == self.window:  # the first state of this window starts the next one
            self.c, self.y = steps[0]["c"], steps[0]["y"]
            self.xs = self.xs[1:]
        return d_hat, H

    def state(self, theta):
        """(c, y) after the last sample, recomputed with theta."""
        steps = self.network.unroll(theta, self.c, self.y, self.xs)
        return (steps[-1]["c"], steps[-1]["y"]) if steps else (self.c, self.y)


class Rtrl:
    """Real-time recurrent learning of gated cells: dc/dtheta and dy/dtheta are carried along."""

    def __init__(self, network):
        self.network = network
        self.c = np.zeros(network.n_s)
        self.y = np.zeros(network.n_s)
        self.dc = np.zeros((network.n_s, network.n_theta))
        self.dy = np.zeros((network.n_s, network.n_theta))

    def forward(self, theta, x):
        """d̂_t and H_t with the current theta; moves state and sensitivities on."""
        network = self.network
        W, Wd = network.matrices(theta)
        n_x, n_s, n_d = network.n_x, network.n_s, network.n_d
        s = network.step(theta, x, self.c, self.y)
        dc, dy = (self.gru if network.cell == "gru" else self.lstm)(W, s)

        d_hat, slope = network.output(theta, s)
        dout = Wd[:, :n_s] @ dy
        for k in range(n_d):  # row k of W^d itself
            first = network.n_gates + k * network.output_row
            dout[k, first : first + network.output_row] += network.output_input(s)
        H = slope[:, None] * dout  # eq. 7

        self.c, self.y, self.dc, self.dy = s["c"], s["y"], dc, dy
        return d_hat, H

    def lstm(self, W, s):
        """dc and dy after step s."""
        n_x, n_s = self.network.n_x, self.network.n_s
        da = W[:, n_x:] @ self.dy  # through y_{t-1}
        for row in range(4 * n_s):  # direct: row `row` of W meets u
            da[row, row * (n_x + n_s) : (row + 1) * (n_x + n_s)] += s["u"]
        z, i, f, o = (s[name][:, None] for name in "zifo")
        tanh_c = np.tanh(s["c"])[:, None]
        dz = (1.0 - z**2) * da[:n_s]
        di = i * (1.0 - i) * da[n_s : 2 * n_s]
        df = f * (1.0 - f) * da[2 * n_s : 3 * n_s]
        do = o * (1.0 - o) * da[3 * n_s :]
        dc = i * dz + z * di + f * self.dc + s["c_before"][:, None] * df  # eq. 4
        return dc, tanh_c * do + o * (1.0 - tanh_c**2) * dc  # eq. 6

    def gru(self, W, s):
        """The same of a GRU, which has no c."""
        n_x, n_s, row = self.network.n_x, self.network.n_s, self.network.row

        def preactivations(first, dy, u):
            """d(W u)/dtheta of n_s rows, where the last entries of u depend on theta by dy."""
            da = W[first : first + n_s, n_x:] @ dy
            for k in range(n_s):
                da[k, (first + k) * row : (first + k + 1) * row] += u
            return da

        r, f, z, y = (s[name][:, None] for name in ("r", "f", "z", "y_before"))
        dr = r * (1.0 - r) * preactivations(0, self.dy, s["u"])
        df = f * (1.0 - f) * preactivations(n_s, self.dy, s["u"])
        dz = (1.0 - z**2) * preactivations(2 * n_s, r * self.dy + y * dr, s["v"])
        return self.dc, f * self.dy + (y - z) * df + (1.0 - f) * dz

    def state(self, theta):
        return self.c, self.y


# --------------------------------------------------------------------------------------------------
# Losses
# --------------------------------------------------------------------------------------------------


class Loss:
    """What an error costs. z is the network's output, mu what is told."""

    def __init__(self, options=None):
        self.options = options or {"kind": "squared"}
        self.kind = self.options["kind"]
        self.scale = self.options.get("link_scale", 1.0)

    def link(self, z):
        z = self.scale * z
        if self.kind == "cross_entropy":
            if len(z) == 1:
                return logistic(z)
            p = np.exp(z - np.max(z.real))
            return p / np.sum(p)
        return np.exp(z) if self.kind == "poisson" else z

    def value(self, d, mu):
        """Also for complex mu, where that is analytic."""
        e = d - mu
        if self.kind == "squared":
            return np.sum(e * e)
        if self.kind == "cross_entropy":
            if len(mu) == 1:
                return -(d[0] * np.log(mu[0]) + (1.0 - d[0]) * np.log(1.0 - mu[0]))
            return -np.sum(d * np.log(mu))
        if self.kind == "poisson":
            return np.sum(mu - d * np.log(mu))
        if self.kind == "huber":
            c = self.options["threshold"]
            size = np.where(e.real < 0, -e, e)
            return np.sum(np.where(size.real <= c, e * e / 2.0, c * (size - c / 2.0)))
        if self.kind == "quantile":
            return np.sum(np.where(e.real < 0, e * (self.options["quantile"] - 1.0),
                                   e * self.options["quantile"]))
        raise ValueError(self.kind)

    def whitened(self, mu, e, H):
        """What a rule sees of a sample: e' and H' with H'^T e' = -d loss / d theta for e = d - mu, and
        H'^T H' = H^T V H, where V is the loss's curvature in z."""
        if self.kind == "squared":
            return e, H
        if self.kind in ("huber", "quantile"):
            c = self.options["threshold"]
            if self.kind == "huber":
                w = 1.0 / np.maximum(np.abs(e) / c, 1.0)
            else:
                tau = self.options["quantile"]
                w = np.where(e < 0, 1.0 - tau, tau) / np.maximum(np.abs(e), c)
            return np.sqrt(w) * e, np.sqrt(w)[:, None] * H
        H = self.scale * H
        if self.kind == "poisson":
            v = [m if b <= 0 else b / math.log(1.0 + b / m) for m, b in zip(mu, e)]
            V = np.diag(v)
        else:
            V = np.diag(mu) - np.outer(mu, mu)
            a = float(e @ np.linalg.pinv(V, rcond=1e-12, hermitian=True) @ e)
            growth = (1.0 + a) / (2.0 + math.log(max(a, 1.0)))
            if growth > 1.0:
                V = V + (growth - 1.0) / a * np.outer(e, e)
        # The symmetric root; the direction in which all probabilities grow alike has none.
        w, U = np.linalg.eigh(V)
        keep = w > 1e-12 * np.max(w)
        U, w = U[:, keep], w[keep]
        return U @ ((U.T @ e) / np.sqrt(w)), U @ (np.sqrt(w)[:, None] * (U.T @ H))


# --------------------------------------------------------------------------------------------------
# Training rules
# --------------------------------------------------------------------------------------------------


def schedule_at(schedule, t):
    """The value of a schedule for the target number t = 0, 1, 2, ..."""
    a, b, steps = schedule["from"], schedule["to"], schedule["steps"]
    if schedule["kind"] == "constant":
        return a
    if schedule["kind"] == "linear":
        return a + (b - a) * min(t / steps, 1.0)
    if schedule["kind"] == "exponential":
        return b + (a - b) * math.exp(-t / steps)
    raise ValueError(schedule["kind"])


class FirstOrder:
    """SGD, RMSprop and Adam on g = -H^T e, the gradient of 1/2 ||e||^2 or of another loss."""

    def __init__(self, network, options):
        self.options = options
        self.m = np.zeros(network.n_theta)
        self.v = np.zeros(network.n_theta)
        self.count = 0

    def learn(self, theta, H, e, t, own=None):
        rule = self.options
        g = -H.T @ e
        rate = schedule_at(rule["learning_rate"], t)
        if rule["kind"] == "sgd":
            return theta - rate * g, "applied"
        if rule["kind"] == "rmsprop":
            beta = rule["decay"]
            self.v = beta * self.v + (1.0 - beta) * g**2
            return theta - rate * g / (np.sqrt(self.v) + rule["epsilon"]), "applied"
        if rule["kind"] == "adam":
            beta1, beta2 = rule["first_decay"], rule["second_decay"]
            self.count += 1
            self.m = beta1 * self.m + (1.0 - beta1) * g
            self.v = beta2 * self.v + (1.0 - beta2) * g**2
            m_hat = self.m / (1.0 - beta1**self.count)
            v_hat = self.v / (1.0 - beta2**self.count)
            return theta - rate * m_hat / (np.sqrt(v_hat) + rule["epsilon"]), "applied"
        raise ValueError(rule["kind"])

    def trace(self):
        return 0.0


class Kalman:
    """EKF (eqs 10-13), DEKF, IEKF (eqs 14-17) and Algorithm 1: P_i per block, P_{i,1} = p_1 I."""

    def __init__(self, network, options):
        self.options = options
        self.n_d = network.n_d
        self.blocks = network.blocks(options.get("partition", "full"))
        p_1 = options["initial_covariance"]
        self.P = [p_1 * np.eye(len(block)) for block in self.blocks]

    def gate_threshold(self):
        """Algorithm 1, line 5: learn iff ||e||^2 exceeds this."""
        bound = self.options["error_bound"]
        return 4.0 * bound**2 if self.options["gate"] == "squared_bound" else 4.0 * bound

    def innovations(self, H, t):
        """S for every block; the matrix that is inverted in eqs 13 and 17."""
        rule = self.options
        HPH = [H[:, b] @ P @ H[:, b].T for b, P in zip(self.blocks, self.P)]
        eye = np.eye(self.n_d)
        if rule["kind"] == "algorithm1":  # line 8, with the floor of the published experiments
            floor, factor = rule["noise_floor"], rule["noise_factor"]
            return [A + (floor + factor * np.trace(A) / self.n_d) * eye for A in HPH]
        r = schedule_at(rule["measurement_noise"], t)
        if rule["kind"] == "dekf":  # one innovation for all blocks
            return [sum(HPH) + r * eye] * len(HPH)
        return [A + r * eye for A in HPH]  # ekf has a single block; iekf: eq. 17

    def learn(self, theta, H, e, t, own=None):
        """Learns from e; the gate judges `own`, which is e unless an expert is told another's error."""
        rule = self.options
        own = e if own is None else own
        q = schedule_at(rule["process_noise"], t)
        if rule["kind"] == "algorithm1" and not own @ own > self.gate_threshold():
            if rule["process_noise_when_gated"]:
                self.P = [P + q * np.eye(len(P)) for P in self.P]
            return theta, "gated"  # lines 14-15

        theta = theta.copy()
        S = self.innovations(H, t)
        for k, block in enumerate(self.blocks):
            H_i, P_i = H[:, block], self.P[k]
            if np.any(H_i):
                G_i = P_i @ H_i.T @ np.linalg.inv(S[k])  # eqs 13, 17; line 9
            else:  # the same, for any r > 0; without floor r = 0 and line 9 reads 0/0
                G_i = np.zeros((len(block), self.n_d))
            theta[block] = theta[block] + G_i @ e  # eqs 10, 14; line 10
            eye = np.eye(len(block))
            self.P[k] = (eye - G_i @ H_i) @ P_i + q * eye  # eqs 11, 15; line 11
        return theta, "applied"

    def trace(self):
        return sum(np.trace(P) for P in self.P)


def make_rule(network, options):
    first_order = options["kind"] in ("sgd", "rmsprop", "adam")
    return FirstOrder(network, options) if first_order else Kalman(network, options)


# --------------------------------------------------------------------------------------------------
# Learners
# --------------------------------------------------------------------------------------------------


class Learner:
    """One network with one rule."""

    def __init__(self, network, network_options, rule_options, theta0, loss):
        self.network = network
        self.loss = loss
        self.theta = theta0.copy()
        if network_options["derivative"] == "tbptt":
            self.derivative = Tbptt(network, network_options["window"])
        else:
            self.derivative = Rtrl(network)
        self.rule = make_rule(network, rule_options)
        self.t = 0

    def predict(self, x):
        """d̂_t from x_1..x_t with theta_t; keeps H_t for learn()."""
        z, self.H = self.derivative.forward(self.theta, x)
        self.d_hat = self.loss.link(z)
        return self.d_hat

    def learn(self, d, told=None):
        """Learns d by its own prediction, or the one it is told; the gate judges its own."""
        own = d - self.d_hat
        mu = self.d_hat if told is None else told
        white = self.loss.whitened(mu, d - mu, self.H)
        self.theta, status = self.rule.learn(self.theta, white[1], white[0], self.t, own=own)
        self.t += 1
        return status

    def forecast(self, xs):
        """d̂ for future inputs, with the current theta."""
        c, y = self.derivative.state(self.theta)
        steps = self.network.unroll(self.theta, c, y, xs)
        return np.array([self.loss.link(self.network.output(self.theta, s)[0]) for s in steps])


class Parallel:
    """The parallel EKF: xi = [theta ; c ; y] (LSTM) or [theta ; y], one covariance for all of it. The
    derivatives of a step are taken by complex steps."""

    def __init__(self, network, network_options, rule_options, theta0, loss):
        self.network = network
        self.loss = loss
        self.options = rule_options
        self.rule = self  # has the trace
        self.n = network.n_theta
        self.m = (2 if network.cell == "lstm" else 1) * network.n_s
        self.xi = np.concatenate([theta0, np.zeros(self.m)])
        p_1 = rule_options["initial_covariance"]
        self.P = np.diag(np.concatenate([p_1 * np.ones(self.n), np.zeros(self.m)]))
        self.t = 0

    @property
    def theta(self):
        return self.xi[: self.n]

    def trace(self):
        return np.trace(self.P[: self.n, : self.n])

    def state(self, xi):
        n_s = self.network.n_s
        y = xi[len(xi) - n_s :]
        return (xi[self.n : self.n + n_s] if self.network.cell == "lstm" else np.zeros(n_s)), y

    def moved(self, xi, x):
        """The state before x in xi becomes the one after it."""
        s = self.network.step(xi[: self.n], x, *self.state(xi))
        state = [s["c"], s["y"]] if self.network.cell == "lstm" else [s["y"]]
        return np.concatenate([xi[: self.n]] + state)

    def output(self, xi, x):
        return self.network.output(xi[: self.n], {"x": x, "y": self.state(xi)[1]})[0]

    def predict(self, x):
        """The time update, and what it tells of d."""
        F = complex_steps(lambda xi: self.moved(xi, x), self.xi)
        self.xi = self.moved(self.xi, x)
        noise = np.concatenate([np.zeros(self.n), self.options["state_noise"] * np.ones(self.m)])
        self.P = F @ self.P @ F.T + np.diag(noise)
        self.H = complex_steps(lambda xi: self.output(xi, x), self.xi)
        self.d_hat = self.loss.link(self.output(self.xi, x))
        return self.d_hat

    def learn(self, d):
        e, H = self.loss.whitened(self.d_hat, d - self.d_hat, self.H)
        r = schedule_at(self.options["measurement_noise"], self.t)
        q = schedule_at(self.options["process_noise"], self.t)
        G = self.P @ H.T @ np.linalg.inv(H @ self.P @ H.T + r * np.eye(len(d)))
        self.xi = self.xi + G @ e
        self.P = self.P - G @ H @ self.P
        self.P[: self.n, : self.n] += q * np.eye(self.n)
        self.t += 1
        return "applied"

    def forecast(self, xs):
        steps = self.network.unroll(self.theta, *self.state(self.xi), xs)
        return np.array([self.loss.link(self.network.output(self.theta, s)[0]) for s in steps])


class Mixture:
    """Algorithm 2: instances of Algorithm 1 that differ in their error bound."""

    def __init__(self, network, network_options, rule_options, theta0, loss):
        self.options = rule_options
        self.loss = loss
        self.experts = [
            Learner(network, network_options, {**rule_options["expert"], "error_bound": bound}, theta0,
                    loss)
            for bound in rule_options["error_bounds"]
        ]
        self.w = np.array(rule_options["prior_weights"], dtype=float)  # line 6

    def predict(self, x):
        """Lines 8-9."""
        self.d_hats = np.array([expert.predict(x) for expert in self.experts])
        self.d_hat = self.w @ self.d_hats / np.sum(self.w)
        return self.d_hat

    def learn(self, d):
        """Lines 10-12; returns the number of experts that learnt."""
        applied = 0
        for j, expert in enumerate(self.experts):
            told = None if self.options["feedback"] == "own" else self.d_hat
            applied += expert.learn(d, told) == "applied"
            loss = self.loss.value(d, self.d_hats[j])
            self.w[j] = self.w[j] * math.exp(-self.options["mixing_rate"] * loss)
        return applied

    def forecast(self, xs):
        forecasts = np.array([expert.forecast(xs) for expert in self.experts])
        return np.tensordot(self.w, forecasts, axes=1) / np.sum(self.w)


def network_of(options):
    return Network(
        options["inputs"], options["hidden"], options["outputs"], options["output_activation"],
        options.get("cell", "lstm"), options.get("direct", False)
    )


def run(case, theta0=None):
    """Runs a case through its stream; returns the outputs that go into its file.

    Also returns how near any gate came to deciding otherwise, for the self-test."""
    options = case["network"]
    network = network_of(options)
    mixture = case["rule"]["kind"] == "algorithm2"
    theta0 = np.array(case["theta0"]) if theta0 is None else theta0
    assert len(theta0) == network.n_theta
    loss = Loss(case.get("loss"))
    kind = Mixture if mixture else Parallel if case["rule"]["kind"] == "pekf" else Learner
    learner = kind(network, options, case["rule"], theta0, loss)

    predictions, statuses, weights, forecasts = [], [], [], []
    margin = math.inf
    for n, (x, d) in enumerate(zip(case["x"], case["d"]), start=1):
        d_hat = learner.predict(np.array(x))
        predictions.append(d_hat.tolist())
        if d is None:
            statuses.append(0 if mixture else "missing")
        else:
            d = np.array(d)
            margin = min(margin, gate_margin(case["rule"], learner, d))
            statuses.append(learner.learn(d))
        if mixture:
            weights.append((learner.w / np.sum(learner.w)).tolist())
        for request in case["forecasts"]:
            if request["after"] == n:
                d_hats = learner.forecast(np.array(request["x"]))
                forecasts.append({**request, "d_hat": d_hats.tolist()})

    members = learner.experts if mixture else [learner]
    thetas = [member.theta.tolist() for member in members]
    results = {
        "prediction": predictions,
        "applied" if mixture else "status": statuses,
        "theta_final": thetas if mixture else thetas[0],
        "trace_final": float(sum(member.rule.trace() for member in members)),
        "weights": weights,
        "forecasts": forecasts,
    }
    return results, margin


def gate_margin(rule, learner, d):
    """The smallest | ||e||^2 / threshold - 1 | over the gates that will decide on d."""
    if rule["kind"] == "algorithm1":
        pairs = [(d - learner.d_hat, learner.rule)]
    elif rule["kind"] == "algorithm2":
        pairs = [(d - x.d_hat, x.rule) for x in learner.experts]
    else:
        return math.inf
    return min(abs(e @ e / gated.gate_threshold() - 1.0) for e, gated in pairs)


# --------------------------------------------------------------------------------------------------
# The cases
# --------------------------------------------------------------------------------------------------


def constant(value):
    return {"kind": "constant", "from": value, "to": value, "steps": 0}


def linear(a, b, steps):
    return {"kind": "linear", "from": a, "to": b, "steps": steps}


def exponential(a, b, steps):
    return {"kind": "exponential", "from": a, "to": b, "steps": steps}


def net(inputs, hidden, outputs, output_activation="tanh", derivative="tbptt", window=5, **others):
    """Others: cell and direct, where they are not lstm and False."""
    return {
        "inputs": inputs,
        "hidden": hidden,
        "outputs": outputs,
        "output_activation": output_activation,
        "derivative": derivative,
        "window": window,
        **others,
    }


def sgd(learning_rate):
    return {"kind": "sgd", "learning_rate": learning_rate}


def rmsprop(learning_rate):
    return {"kind": "rmsprop", "learning_rate": learning_rate, "decay": 0.99, "epsilon": 1e-8}


def adam(learning_rate):
    return {
        "kind": "adam",
        "learning_rate": learning_rate,
        "first_decay": 0.9,
        "second_decay": 0.999,
        "epsilon": 1e-8,
    }


def kalman(kind, p1, r, q, partition=None):
    rule = {"kind": kind, "initial_covariance": p1, "measurement_noise": r, "process_noise": q}
    return rule if partition is None else {**rule, "partition": partition}


def parallel(p1, r, q, state_noise):
    return {**kalman("pekf", p1, r, q), "state_noise": state_noise}


def algorithm1(p1, q, bound, floor=0.5, factor=3.0, gate="squared_bound", q_when_gated=False,
               partition="node"):
    return {
        "kind": "algorithm1",
        "initial_covariance": p1,
        "process_noise": q,
        "error_bound": bound,
        "noise_floor": floor,
        "noise_factor": factor,
        "gate": gate,
        "process_noise_when_gated": q_when_gated,
        "partition": partition,
    }


def algorithm2(expert, bounds, prior, rate, feedback):
    return {
        "kind": "algorithm2",
        "expert": expert,
        "error_bounds": [float(v) for v in bounds],
        "prior_weights": [float(v) for v in prior],
        "mixing_rate": rate,
        "feedback": feedback,
    }


def rounded(values, unit=1.0 / 1024.0):
    """Multiples of 1/1024, which are short and exact in decimal."""
    return (np.round(np.asarray(values) / unit) * unit).tolist()


def random_stream(rng, inputs, outputs, length):
    """Targets that depend on the last two inputs and a slow wave, with noise, in [-0.9, 0.9]."""
    x = rng.normal(0.0, 1.0, (length, inputs))
    A = rng.normal(0.0, 0.6, (outputs, inputs))
    B = rng.normal(0.0, 0.5, (outputs, inputs))
    before = np.vstack([np.zeros(inputs), x[:-1]])
    wave = 0.5 * np.sin(0.3 * np.arange(length)[:, None] + np.arange(outputs))
    noise = rng.normal(0.0, 0.1, (length, outputs))
    d = 0.9 * np.tanh(x @ A.T + np.abs(before) @ B.T + wave + noise)
    return rounded(x), rounded(d)


def addition_stream(rng, inputs, length):
    """Bits added online with carry, least significant first; target -0.5 or +0.5."""
    bits = rng.integers(0, 2, (length, inputs))
    carry, d = 0, []
    for row in bits:
        total = int(row.sum()) + carry
        d.append([0.5 if total % 2 else -0.5])
        carry = total // 2
    return bits.astype(float).tolist(), d


def targets_of(loss, d):
    """Targets in (-0.9, 0.9) as this loss has them: classes, counts, or some far off."""
    if loss["kind"] == "cross_entropy":
        if len(d[0]) == 1:
            return [[1.0 if v[0] > 0 else 0.0] for v in d]
        return [[1.0 if k == int(np.argmax(v)) else 0.0 for k in range(len(v))] for v in d]
    if loss["kind"] == "poisson":
        return [[float(round(4.0 * math.exp(1.5 * v))) if n % 9 else 40.0 for v in row]
                for n, row in enumerate(d)]
    return [[5.0 * v if n % 7 == 3 else v for v in row] for n, row in enumerate(d)]


def make_case(name, seed, network, rule, length=40, missing=(), forecasts=(), addition=False,
              loss=None):
    rng = np.random.default_rng(seed)
    theta0 = rounded(rng.normal(0.0, 0.3, network_of(network).n_theta))
    if addition:
        x, d = addition_stream(rng, network["inputs"], length)
    else:
        x, d = random_stream(rng, network["inputs"], network["outputs"], length)
    if loss:
        d = targets_of(loss, d)
    for n in missing:
        d[n] = None
    requests = []
    for after in forecasts:
        future = rng.integers(0, 2, (5, network["inputs"])) * 1.0 if addition else \
            rng.normal(0.0, 1.0, (5, network["inputs"]))
        requests.append({"after": after, "x": rounded(future)})
    return {
        "case": name,
        "network": network,
        "rule": rule,
        **({"loss": loss} if loss else {}),
        "theta0": theta0,
        "x": x,
        "d": d,
        "forecasts": requests,
    }


def cases():
    q7 = constant(1e-7)
    r3, q4 = constant(3.0), constant(1e-4)
    r1, classes = constant(1.0), {"kind": "cross_entropy"}
    halves = [1.0 / 2**k for k in range(7)] + [0.01]  # sqrt(n_d), ..., zeta_min with n_d = 1
    halves_2 = [math.sqrt(2.0) / 2**k for k in range(8)]
    uniform = [1.0 / 8.0] * 8
    simple = {"cell": "simple", "direct": True}
    feedforward = {"cell": "feedforward"}
    gru = {"cell": "gru"}
    one_block = algorithm1(2.0, q4, 0.15, floor=0.1, factor=0.5, partition="full")
    return [
        # First-order rules.
        make_case("sgd", 1, net(2, 3, 1), sgd(constant(0.2)), forecasts=(3, 40)),
        make_case("sgd_exponential_rate", 2, net(3, 2, 2, "identity"),
                  sgd(exponential(0.1, 0.01, 15.0))),
        make_case("rmsprop", 3, net(2, 3, 2), rmsprop(constant(0.008)), forecasts=(20,)),
        make_case("adam", 4, net(3, 3, 1, "identity"), adam(constant(0.01))),
        make_case("adam_linear_rate_rtrl", 5, net(2, 3, 2, derivative="rtrl"),
                  adam(linear(0.02, 0.002, 30.0)), forecasts=(25,)),
        # EKF.
        make_case("ekf_d1", 10, net(2, 3, 1), kalman("ekf", 5.0, r3, q4), forecasts=(2, 30)),
        make_case("ekf_d2", 11, net(2, 3, 2), kalman("ekf", 5.0, r3, q4)),
        make_case("ekf_d2_identity", 12, net(3, 2, 2, "identity"), kalman("ekf", 2.0, r3, q4)),
        make_case("ekf_linear_schedules_missing", 13, net(2, 3, 1),
                  kalman("ekf", 5.0, linear(10.0, 3.0, 25.0), linear(1e-2, 1e-4, 35.0)),
                  missing=(19,), forecasts=(20, 21)),
        make_case("ekf_exponential_schedules", 14, net(2, 2, 2),
                  kalman("ekf", 5.0, exponential(10.0, 3.0, 12.0), exponential(1e-2, 1e-5, 8.0))),
        make_case("ekf_window_1", 15, net(2, 3, 1, window=1), kalman("ekf", 5.0, r3, q4),
                  forecasts=(1, 30)),
        make_case("ekf_window_100", 16, net(2, 3, 1, "identity", window=100),
                  kalman("ekf", 5.0, r3, q4), forecasts=(10, 40)),
        make_case("ekf_rtrl_d1", 17, net(2, 3, 1, derivative="rtrl"), kalman("ekf", 5.0, r3, q4),
                  forecasts=(15, 40)),
        make_case("ekf_rtrl_d2", 18, net(3, 2, 2, "identity", derivative="rtrl"),
                  kalman("ekf", 2.0, r3, q4)),
        # DEKF and IEKF.
        make_case("dekf_node", 20, net(2, 3, 2), kalman("dekf", 20.0, r3, q4, "node"),
                  forecasts=(12,)),
        make_case("dekf_unit", 21, net(2, 3, 2), kalman("dekf", 20.0, r3, q4, "unit")),
        make_case("dekf_gate", 22, net(3, 3, 1, "identity"), kalman("dekf", 10.0, r3, q4, "gate")),
        make_case("iekf_node", 23, net(2, 3, 2),
                  kalman("iekf", 1.0, constant(8.0), linear(1e-3, 1e-5, 30.0), "node"),
                  forecasts=(30,)),
        make_case("iekf_unit", 24, net(2, 4, 1, window=4),
                  kalman("iekf", 1.0, constant(5.0), q4, "unit")),
        make_case("iekf_full", 25, net(2, 3, 2, "identity"), kalman("iekf", 2.0, r3, q4, "full")),
        # Algorithm 1.
        make_case("algorithm1_squared_bound", 30, net(2, 3, 1), algorithm1(2.0, q7, 0.15),
                  length=50, forecasts=(25,)),
        make_case("algorithm1_bound", 31, net(2, 3, 2),
                  algorithm1(2.0, q7, 0.08, gate="bound", partition="unit"), length=50),
        make_case("algorithm1_gated_process_noise", 32, net(2, 3, 2, "identity"),
                  algorithm1(0.5, linear(1e-2, 1e-3, 30.0), 0.25, q_when_gated=True), length=50,
                  forecasts=(50,)),
        make_case("algorithm1_no_gated_process_noise", 32, net(2, 3, 2, "identity"),
                  algorithm1(0.5, linear(1e-2, 1e-3, 30.0), 0.25, q_when_gated=False), length=50),
        # Without a floor small blocks diverge within a few steps at the paper's factor of 3, and no
        # two programs agree to any digit; so a single block, or a larger factor.
        make_case("algorithm1_no_floor", 34, net(2, 2, 2),
                  algorithm1(0.5, q4, 0.3, floor=0.0, partition="full"), length=50),
        make_case("algorithm1_no_floor_unit", 36, net(2, 2, 2),
                  algorithm1(0.5, q4, 0.3, floor=0.0, factor=100.0, partition="unit"), length=50),
        make_case("algorithm1_no_floor_node", 37, net(2, 2, 2),
                  algorithm1(0.5, q4, 0.3, floor=0.0, factor=1000.0), length=50),
        # The first sample is applied: H_i = 0 in the forget nodes, whose c_0 is 0.
        make_case("algorithm1_no_floor_unobserved", 38, net(2, 2, 2),
                  algorithm1(0.5, q4, 0.3, floor=0.0, factor=1000.0), length=50),
        make_case("algorithm1_rtrl", 39, net(3, 2, 1, derivative="rtrl"),
                  algorithm1(2.0, q7, 0.15, partition="gate"), length=50, forecasts=(30,)),
        # Algorithm 2.
        make_case("algorithm2_paper", 40, net(2, 2, 1),
                  algorithm2(algorithm1(0.5, q7, 0.01, floor=0.0, partition="full"), halves, uniform,
                             1.0 / 8.0, "own"),
                  forecasts=(20,)),
        make_case("algorithm2_paper_floor", 41, net(2, 2, 2),
                  algorithm2(algorithm1(2.0, q7, 0.01), halves_2, uniform, 1.0 / 16.0, "own"),
                  forecasts=(20,)),
        make_case("algorithm2_authors_missing", 42, net(3, 2, 1),
                  algorithm2(algorithm1(5.0, linear(1e-3, 1e-5, 40.0), 0.01, q_when_gated=True),
                             np.geomspace(0.01, 0.125, 5), np.linspace(1.0, 0.5, 5), 1.0, "own"),
                  length=50, missing=(24,), forecasts=(10, 25)),
        make_case("algorithm2_addition", 43, net(3, 2, 1),
                  algorithm2(algorithm1(10.0, q7, 0.01, gate="bound"), np.geomspace(0.01, 1.0, 8),
                             np.linspace(1.0, 0.005, 8), 1.0, "mixture"),
                  length=60, forecasts=(30, 60), addition=True),
        # Other cells, direct connections.
        make_case("ekf_simple_direct", 50, net(2, 3, 1, window=10, **simple),
                  kalman("ekf", 5.0, r3, q4), forecasts=(4, 30)),
        make_case("ekf_simple_direct_window_1", 51, net(2, 3, 2, "identity", window=1, **simple),
                  kalman("ekf", 2.0, r3, q4), missing=(12,), forecasts=(13,)),
        make_case("algorithm1_simple_direct", 52, net(3, 3, 2, window=10, **simple), one_block,
                  length=50, forecasts=(25,)),
        make_case("algorithm1_simple_direct_window_1", 53, net(2, 3, 1, window=1, **simple),
                  one_block, length=50),
        make_case("ekf_feedforward", 54, net(2, 4, 2, **feedforward), kalman("ekf", 5.0, r3, q4),
                  forecasts=(20,)),
        make_case("algorithm1_feedforward_direct", 55,
                  net(3, 4, 1, "identity", **feedforward, direct=True), one_block, length=50,
                  forecasts=(30,)),
        make_case("ekf_direct_rtrl", 56, net(2, 3, 1, derivative="rtrl", direct=True),
                  kalman("ekf", 5.0, r3, q4), forecasts=(15,)),
        make_case("ekf_gru", 60, net(2, 3, 2, **gru), kalman("ekf", 5.0, r3, q4), missing=(9,),
                  forecasts=(4, 30)),
        make_case("dekf_gru_gate", 61, net(3, 3, 1, "identity", window=10, **gru),
                  kalman("dekf", 10.0, r3, q4, "gate")),
        make_case("algorithm1_gru_direct", 62, net(2, 3, 2, **gru, direct=True),
                  algorithm1(2.0, q7, 0.15, partition="unit"), length=50, forecasts=(25,)),
        make_case("adam_gru_rtrl", 63, net(2, 3, 2, derivative="rtrl", **gru),
                  adam(constant(0.01)), forecasts=(20,)),
        make_case("ekf_gru_rtrl", 64, net(2, 3, 1, derivative="rtrl", **gru),
                  kalman("ekf", 5.0, r3, q4), forecasts=(15,)),
        # Other losses.
        make_case("ekf_two_classes", 70, net(2, 3, 1, "identity"), kalman("ekf", 5.0, r1, q4),
                  missing=(11,), forecasts=(4, 30), loss=classes),
        make_case("ekf_classes", 71, net(2, 3, 3, "identity"), kalman("ekf", 5.0, r1, q4),
                  missing=(11,), forecasts=(4, 30), loss=classes),
        make_case("ekf_classes_steep", 79, net(2, 3, 3, "identity"), kalman("ekf", 1.0, r1, q4),
                  loss={"kind": "cross_entropy", "link_scale": 3.0}),
        make_case("dekf_classes_gru_unit", 72, net(2, 3, 4, "identity", **gru),
                  kalman("dekf", 5.0, r1, q4, "unit"), loss=classes),
        make_case("iekf_classes_rtrl", 73, net(2, 3, 3, "identity", derivative="rtrl"),
                  kalman("iekf", 1.0, constant(8.0), q4, "node"), loss=classes),
        make_case("adam_classes", 74, net(3, 3, 3, "identity"), adam(constant(0.02)),
                  forecasts=(20,), loss=classes),
        make_case("sgd_two_classes_rtrl", 75, net(2, 3, 1, "identity", derivative="rtrl"),
                  sgd(constant(0.3)), loss=classes),
        make_case("algorithm1_classes_simple", 76, net(2, 3, 3, "identity", **simple),
                  algorithm1(2.0, q7, 0.25, partition="unit"), length=50, loss=classes),
        make_case("algorithm2_classes", 77, net(2, 2, 3, "identity"),
                  algorithm2(algorithm1(2.0, q7, 0.01), halves_2, uniform, 1.0, "own"),
                  forecasts=(20,), loss=classes),
        make_case("algorithm2_two_classes_mixture", 78, net(3, 2, 1, "identity"),
                  algorithm2(algorithm1(5.0, q7, 0.01), np.geomspace(0.01, 0.3, 5),
                             np.linspace(1.0, 0.5, 5), 1.0, "mixture"), length=60, loss=classes),
        make_case("ekf_counts", 80, net(2, 3, 2, "identity"), kalman("ekf", 1.0, r1, q4),
                  missing=(11,), forecasts=(4, 30), loss={"kind": "poisson"}),
        make_case("rmsprop_counts_feedforward", 81, net(2, 3, 1, "identity", **feedforward),
                  rmsprop(constant(0.01)), loss={"kind": "poisson"}),
        make_case("algorithm2_counts", 82, net(2, 2, 1, "identity"),
                  algorithm2(algorithm1(0.5, q7, 0.01), [4.0, 1.0, 0.25], [1.0] * 3, 1.0, "own"),
                  loss={"kind": "poisson"}),
        make_case("ekf_huber", 83, net(2, 3, 2, "identity"), kalman("ekf", 2.0, r1, q4),
                  loss={"kind": "huber", "threshold": 0.3}),
        make_case("algorithm2_huber", 84, net(2, 2, 1, "identity"),
                  algorithm2(algorithm1(1.0, q7, 0.01), [0.5, 0.1, 0.02], [1.0] * 3, 0.25, "own"),
                  loss={"kind": "huber", "threshold": 0.3}),
        make_case("ekf_quantile", 85, net(2, 3, 2), kalman("ekf", 2.0, r1, q4),
                  loss={"kind": "quantile", "threshold": 0.2, "quantile": 0.8}),
        make_case("adam_quantile_rtrl", 86, net(2, 3, 1, "identity", derivative="rtrl"),
                  adam(constant(0.01)),
                  loss={"kind": "quantile", "threshold": 0.05, "quantile": 0.3}),
        make_case("pekf", 90, net(2, 3, 2), parallel(2.0, constant(3.0), q4, 1e-3), missing=(11,),
                  forecasts=(4, 30)),
        make_case("pekf_identity", 91, net(3, 2, 1, "identity"),
                  parallel(1.0, linear(10.0, 3.0, 20.0), constant(0.0), 0.0)),
        make_case("pekf_gru", 92, net(2, 3, 1, **gru), parallel(1.0, constant(1.0), q4, 0.01)),
        make_case("pekf_simple_direct", 93, net(2, 3, 2, cell="simple", direct=True),
                  parallel(1.0, constant(3.0), q4, 1e-3)),
        make_case("pekf_feedforward", 94, net(2, 3, 2, **feedforward),
                  parallel(2.0, constant(3.0), q4, 1e-3)),
        make_case("pekf_classes", 95, net(2, 3, 3, "identity"),
                  parallel(1.0, constant(3.0), q4, 1e-3), loss=classes),
    ]


# --------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------


def to_json(value):
    """JSON on one line, floats with 17 significant digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_json(v) for v in value) + "]"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a golden value is not finite")
        return f"{value:.17g}"
    return json.dumps(value)


def file_text(case):
    """One line per field; one line per row of a list of lists or objects."""
    lines = []
    for key, value in case.items():
        if isinstance(value, list) and any(isinstance(v, (list, dict)) for v in value):
            text = "[\n    " + ",\n    ".join(to_json(v) for v in value) + "\n  ]"
        else:
            text = to_json(value)
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def regenerate(case):
    results, _ = run(case)
    return {**case, **results}


def largest(value):
    """The largest magnitude in nested lists."""
    if isinstance(value, dict):
        return max((largest(v) for v in value.values()), default=0.0)
    if isinstance(value, list):
        return max((largest(v) for v in value), default=0.0)
    return abs(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def differences(path, new, old, scale=None, tolerance=1e-12):
    """Where two JSON values differ; numbers relative to the largest of their outermost list."""
    if isinstance(new, dict) and isinstance(old, dict):
        if new.keys() != old.keys():
            return [f"{path}: keys {sorted(old)} in the file, {sorted(new)} now"]
        return [d for k in new for d in differences(f"{path}.{k}", new[k], old[k], scale, tolerance)]
    if isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            return [f"{path}: {len(old)} entries in the file, {len(new)} now"]
        scale = largest(old) if scale is None else scale
        return [d for k in range(len(new))
                for d in differences(f"{path}[{k}]", new[k], old[k], scale, tolerance)]
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (new, old))
    if numbers:
        near = abs(new - old) <= tolerance * (abs(old) if scale is None else scale)
        return [] if near else [f"{path}: {old!r} in the file, {new!r} now"]
    return [] if new == old else [f"{path}: {old!r} in the file, {new!r} now"]


def write():
    """Files that are there are never written again."""
    for case in cases():
        path = FOLDER / f"{case['case']}.json"
        if not path.exists():
            path.write_text(file_text(regenerate(case)))
            print(f"{path.stat().st_size:7d}  {path.name}")


def check():
    found = []
    for case in cases():
        path = FOLDER / f"{case['case']}.json"
        if not path.exists():
            found.append(f"{path.name}: missing")
            continue
        found += differences(case["case"], regenerate(case), json.loads(path.read_text()))
    names = {f"{case['case']}.json" for case in cases()}
    found += [f"{p.name}: no such case" for p in FOLDER.glob("*.json") if p.name not in names]
    print("\n".join(found) if found else f"{len(names)} files agree")
    return not found


# --------------------------------------------------------------------------------------------------
# Self-test
# --------------------------------------------------------------------------------------------------


def central_differences(function, theta, h=1e-5):
    columns = []
    for k in range(len(theta)):
        step = np.zeros_like(theta)
        step[k] = h
        columns.append((function(theta + step) - function(theta - step)) / (2.0 * h))
    return np.array(columns).T


def complex_steps(function, theta, h=1e-30):
    columns = []
    for k in range(len(theta)):
        step = np.zeros(len(theta), dtype=complex)
        step[k] = 1j * h
        columns.append(function(theta + step).imag / h)
    return np.array(columns).T


def expect(name, error, tolerance):
    good = error <= tolerance
    print(f"{'ok  ' if good else 'FAIL'}  {name}: {error:.1e} <= {tolerance:.0e}")
    return good


def self_test():
    good = True
    rng = np.random.default_rng(99)

    def error(a, b):
        return float(np.max(np.abs(np.asarray(a) - np.asarray(b))))

    kinds = [(cell, activation, direct) for cell in ("lstm", "gru", "simple", "feedforward")
             for activation in ("tanh", "identity") for direct in (False, True)]
    for cell, activation, direct in kinds:
        network = Network(2, 3, 2, activation, cell, direct)
        activation += f", {cell}" + (", direct" if direct else "")
        scale = 0.7 if cell in ("lstm", "gru") else 0.4  # without gates d̂ is more curved: h^2 d''' counts
        theta = rng.normal(0.0, scale, network.n_theta)
        xs = list(rng.normal(0.0, 1.0, (12, 2)))

        # BPTT from a state that is not zero.
        c, y = rng.normal(0.0, 0.5, 3), rng.normal(0.0, 0.5, 3)
        H = bptt_jacobian(network, theta, network.unroll(theta, c, y, xs))
        h = lambda th: network.unrolled_output(th, c, y, xs)  # noqa: E731
        good &= expect(f"BPTT, central differences, {activation}",
                       error(H, central_differences(h, theta)), 1e-9)
        good &= expect(f"BPTT, complex step, {activation}", error(H, complex_steps(h, theta)), 1e-14)

        if cell not in ("lstm", "gru"):
            continue
        # RTRL with weights that change from step to step: every theta_s is shifted alike.
        thetas = [theta + rng.normal(0.0, 0.1, network.n_theta) for _ in xs]
        rtrl = Rtrl(network)
        for th, x in zip(thetas, xs):
            _, H = rtrl.forward(th, x)

        def carried(shift):
            c, y = np.zeros(3), np.zeros(3)
            for th, x in zip(thetas, xs):
                s = network.step(th + shift, x, c, y)
                c, y = s["c"], s["y"]
            return network.output(thetas[-1] + shift, s)[0]

        zero = np.zeros(network.n_theta)
        good &= expect(f"RTRL, central differences, {activation}",
                       error(H, central_differences(carried, zero)), 1e-9)
        good &= expect(f"RTRL, complex step, {activation}",
                       error(H, complex_steps(carried, zero)), 1e-14)

        # Frozen weights: RTRL = BPTT over everything; a short window gives the same d̂, not H.
        rtrl, whole, short = Rtrl(network), Tbptt(network, 50), Tbptt(network, 4)
        for x in xs:
            (d1, H1), (d2, H2) = rtrl.forward(theta, x), whole.forward(theta, x)
            d3, H3 = short.forward(theta, x)
            good &= len(short.xs) <= 3
        good &= expect(f"RTRL = whole-window BPTT, {activation}",
                       max(error(d1, d2), error(H1, H2)), 1e-14)
        good &= expect(f"short window, same prediction, {activation}", error(d1, d3), 1e-14)
        good &= error(H1, H3) > 1e-4

    # Losses: H'^T e' is minus the gradient, by complex steps through network, link and loss; and at
    # the mean prediction H'^T H' is H^T Var(d) H.
    for outputs, options in [(1, {"kind": "cross_entropy", "link_scale": 3.0}),
                             (4, {"kind": "cross_entropy"}),
                             (2, {"kind": "poisson"}), (2, {"kind": "huber", "threshold": 0.3}),
                             (2, {"kind": "quantile", "threshold": 1e-9, "quantile": 0.8})]:
        loss = Loss(options)
        network = Network(2, 3, outputs, "identity")
        theta = rng.normal(0.0, 0.7, network.n_theta)
        xs = list(rng.normal(0.0, 1.0, (6, 2)))
        start = np.zeros(3)
        H = bptt_jacobian(network, theta, network.unroll(theta, start, start, xs))
        mu = loss.link(network.unrolled_output(theta, start, start, xs))
        for scale in (0.5, 3.0):
            d = np.array(targets_of(options, (scale * rng.normal(size=(1, outputs))).tolist())[0])
            white = loss.whitened(mu, d - mu, H)
            told = lambda th: np.array([loss.value(d, loss.link(  # noqa: E731
                network.unrolled_output(th, start, start, xs)))])
            good &= expect(f"loss {options['kind']}, {outputs} outputs",
                           error(-white[1].T @ white[0], complex_steps(told, theta)[0]), 1e-13)
        if options["kind"] == "cross_entropy":
            V = np.diag(mu) - np.outer(mu, mu)
            white = loss.whitened(mu, 0.0 * mu, H)
            good &= expect("curvature is variance",
                           error(white[1].T @ white[1], loss.scale**2 * (H.T @ V @ H)), 1e-13)

    # Partitions: every index once.
    network = Network(2, 3, 2, "tanh")
    for partition, count in (("node", 14), ("unit", 5), ("gate", 6), ("full", 1)):
        blocks = network.blocks(partition)
        indices = np.sort(np.concatenate(blocks))
        good &= expect(f"partition {partition}", error(indices, np.arange(network.n_theta)), 0.0)
        good &= len(blocks) == count

    # (P_+ - qI)^-1 = P^-1 + H^T H / r, and all three filters with one block agree.
    H, e = rng.normal(0.0, 1.0, (2, network.n_theta)), np.array([0.3, -0.2])
    M = rng.normal(0.0, 0.2, (network.n_theta, network.n_theta))
    P = M @ M.T + np.eye(network.n_theta)
    results = []
    for kind in ("ekf", "dekf", "iekf"):
        rule = Kalman(network, kalman(kind, 1.0, constant(2.0), constant(0.1), "full"))
        rule.P = [P]
        theta, _ = rule.learn(np.zeros(network.n_theta), H, e, 0)
        results.append((theta, rule.P[0]))
        left = np.linalg.inv(rule.P[0] - 0.1 * np.eye(network.n_theta))
        good &= expect(f"information form, {kind}",
                       error(left, np.linalg.inv(P) + H.T @ H / 2.0), 1e-11)
    good &= expect("one block: ekf = dekf = iekf",
                   max(max(error(a, results[0][0]), error(p, results[0][1])) for a, p in results), 0.0)

    # Every case: both outcomes of its gates occur, none is a near tie, and the trajectory is well
    # conditioned, so that another order of summation stays within test tolerances.
    names = set()
    for case in cases():
        names.add(case["case"])
        results, margin = run(case)
        theta0 = np.array(case["theta0"])
        relative = 1e-9
        shifted, _ = run(case, theta0 * (1.0 + relative * np.sign(rng.normal(size=theta0.shape))))
        growth = error(shifted["prediction"], results["prediction"]) / relative
        growth_theta = error(shifted["theta_final"], results["theta_final"]) / relative
        misfit = np.mean([np.sum((np.array(d) - p) ** 2)
                          for d, p in zip(case["d"], results["prediction"]) if d is not None])
        note = f"{case['case']}: error growth (mean ||e||^2 {misfit:.3f}, max |theta| " \
               f"{largest(results['theta_final']):.2g}, theta growth {growth_theta:.1f}"
        if case["rule"]["kind"] == "algorithm1":
            applied = results["status"].count("applied")
            note += f", {applied} of {len(case['x'])} applied, margin {margin:.0e}"
            good &= 5 <= applied <= len(case["x"]) - 5
        if case["rule"]["kind"] == "algorithm2":
            applied, possible = sum(results["applied"]), len(results["theta_final"]) * len(case["x"])
            note += f", {applied} of {possible} applied, margin {margin:.0e}"
            good &= 20 <= applied <= possible - 20
        good &= margin > 1e-5
        good &= expect(note + ")", max(growth, growth_theta), 2e3)
    good &= len(names) == len(cases())
    print("self-test passed" if good else "self-test FAILED")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare with the files")
    action.add_argument("--self-test", action="store_true", help="check this transcription")
    arguments = parser.parse_args()
    if arguments.self_test:
        sys.exit(0 if self_test() else 1)
    if arguments.check:
        sys.exit(0 if check() else 1)
    write()


if __name__ == "__main__":
    main()

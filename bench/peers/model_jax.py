"""JAX: Adam, the full EKF and Algorithm 2, each one jit-compiled scan over the whole stream.

    model_jax.py FOLDER natural|tuned    answers requests about the cases in FOLDER (protocol.py)

natural: jax.value_and_grad, the formulas as they stand in the paper, vmap over experts.
tuned:   the fastest form found; README.md says what was tried.
"""

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from protocol import Case, serve

jax.config.update("jax_enable_x64", True)

Array = jax.Array
State = Any  # a pytree
DELAY = 8  # rows between passes that change the P of the tuned EKF


class Network:
    """The LSTM over a window, as pure functions.

    A window that is not full yet begins with rows of zeros. They leave the state zero and add
    nothing to the derivative, so this is exact.
    """

    def __init__(self, case: Case) -> None:
        self.n_s, self.n_x, self.window = case.n_s, case.n_x, case.window

    def start(self) -> State:
        """c, y before the window, and its inputs."""
        return jnp.zeros(self.n_s), jnp.zeros(self.n_s), jnp.zeros((self.window, self.n_x))

    def forward(self, W: Array, Wd: Array, state: State, x: Array) -> tuple[Array, State, State]:
        """d̂, the state to carry on, and what a backward pass needs."""
        n_s = self.n_s
        c, y, X = state
        X = jnp.concatenate([X[1:], x[None]])
        W_yT = W[:, self.n_x :].T
        steps = []
        for from_x in X @ W[:, : self.n_x].T:
            a = from_x + y @ W_yT
            z = jnp.tanh(a[:n_s])
            s = jax.nn.sigmoid(a[n_s:])
            i, f, o = s[:n_s], s[n_s : 2 * n_s], s[2 * n_s :]
            c_before, y_before = c, y
            c = i * z + f * c
            tanh_c = jnp.tanh(c)
            y = o * tanh_c
            steps.append((z, i, f, o, tanh_c, c_before, y_before))
            if len(steps) == 1:
                carried = (c, y, X)
        d_hat = jnp.tanh(Wd[:n_s] @ y + Wd[n_s])
        return d_hat, carried, (X, y, steps)

    def derivative(
        self, W: Array, Wd: Array, state: State, x: Array
    ) -> tuple[Array, State, Array, Array]:
        """d̂, the state to carry on, ∂d̂/∂W and ∂d̂/∂W^d."""

        def predict(weights: tuple[Array, Array]) -> tuple[Array, State]:
            d_hat, carried, _ = self.forward(*weights, state, x)
            return d_hat, carried

        (d_hat, state), (H_W, H_d) = jax.value_and_grad(predict, has_aux=True)((W, Wd))
        return d_hat, state, H_W, H_d


class TunedNetwork(Network):
    """The backward pass written out, with one product for ∂d̂/∂W."""

    def derivative(
        self, W: Array, Wd: Array, state: State, x: Array
    ) -> tuple[Array, State, Array, Array]:
        n_s = self.n_s
        d_hat, state, (X, y, steps) = self.forward(W, Wd, state, x)
        slope = 1 - d_hat * d_hat
        dy = slope * Wd[:n_s]
        dc = jnp.zeros(n_s)
        W_y = W[:, self.n_x :]
        da = []
        for z, i, f, o, tanh_c, c_before, _ in reversed(steps):
            dc = dc + dy * o * (1 - tanh_c * tanh_c)
            parts = (
                dc * i * (1 - z * z),
                dc * z * i * (1 - i),
                dc * c_before * f * (1 - f),
                dy * tanh_c * o * (1 - o),
            )
            da.append(jnp.concatenate(parts))
            dc = dc * f
            dy = da[-1] @ W_y
        inputs = jnp.concatenate([X, jnp.stack([step[-1] for step in steps])], axis=1)
        return d_hat, state, jnp.stack(da[::-1]).T @ inputs, slope * jnp.append(y, 1.0)


class Scan:
    """A task: `step` scanned over the rows, compiled once for each number of rows."""

    def __init__(
        self,
        case: Case,
        start: Callable[[], State],
        step: Callable[[State, State], tuple[State, Array]],
        *per_row: np.ndarray,
        block: int = 1,
    ) -> None:
        self.start, self.block = start, block
        self.rows = tuple(jnp.asarray(a) for a in (case.x, case.d, *per_row))
        self.scan = jax.jit(lambda state, rows: lax.scan(step, state, rows), donate_argnums=0)

    def restart(self) -> None:
        # Copies, since the compiled program is allowed to overwrite its state.
        self.state = jax.block_until_ready(jax.tree.map(jnp.array, self.start()))

    def run(self, rows: int) -> Array:
        def cut(a: Array) -> Array:
            a = a[:rows]
            return a if self.block == 1 else a.reshape(-1, self.block, *a.shape[1:])

        self.state, d_hat = self.scan(self.state, jax.tree.map(cut, self.rows))
        jax.block_until_ready(self.state)
        return d_hat.reshape(-1)


def adam(case: Case, network: Network) -> Scan:
    s = case.settings
    mu, b1, b2, epsilon = (
        s[k] for k in ("learning_rate", "first_decay", "second_decay", "epsilon")
    )
    t = 1 + np.arange(len(case.d))

    def moved(w: Array, m: Array, v: Array, g: Array, m_scale: Array, v_scale: Array) -> State:
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * (g * g)
        return w - mu * (m * m_scale) / (jnp.sqrt(v * v_scale) + epsilon), m, v

    def step(state: State, row: State) -> tuple[State, Array]:
        gates, output, lstm = state
        x, d, *scales = row
        d_hat, lstm, H_W, H_d = network.derivative(gates[0], output[0], lstm, x)
        gates = moved(*gates, (d_hat - d) * H_W, *scales)
        output = moved(*output, (d_hat - d) * H_d, *scales)
        return (gates, output, lstm), d_hat

    def start() -> State:
        W, Wd = jnp.asarray(case.W), jnp.asarray(case.Wd)
        return (W, 0 * W, 0 * W), (Wd, 0 * Wd, 0 * Wd), network.start()

    return Scan(case, start, step, 1 / (1 - b1**t), 1 / (1 - b2**t))


def flat_derivative(
    case: Case, network: Network, theta: Array, lstm: State, x: Array
) -> tuple[Array, State, Array]:
    W, Wd = theta[: -case.n_s - 1].reshape(case.W.shape), theta[-case.n_s - 1 :]
    d_hat, lstm, H_W, H_d = network.derivative(W, Wd, lstm, x)
    return d_hat, lstm, jnp.concatenate([H_W.reshape(-1), H_d])


def ekf(case: Case, network: Network) -> Scan:
    def step(state: State, row: State) -> tuple[State, Array]:
        theta, P, lstm = state
        x, d, q, r = row
        d_hat, lstm, h = flat_derivative(case, network, theta, lstm, x)
        v = P @ h
        s = h @ v + r
        theta = theta + ((d - d_hat) / s) * v
        return (theta, P - jnp.outer(v / s, v) + q * jnp.eye(len(h)), lstm), d_hat

    def start() -> State:
        P = case.settings["initial_covariance"] * jnp.eye(case.n_theta)
        return jnp.asarray(case.theta), P, network.start()

    return Scan(
        case, start, step, case.schedule("process_noise"), case.schedule("measurement_noise")
    )


def ekf_tuned(case: Case, network: Network) -> Scan:
    """P = P₀ + qI − Σwwᵀ with a scalar q and the last few w kept apart: P is written less often."""

    def block(state: State, rows: State) -> tuple[State, Array]:
        P, small = state

        def step(carry: State, row: State) -> tuple[State, Array]:
            pending, k, (theta, q_sum, lstm) = carry
            x, d, q, r = row
            d_hat, lstm, h = flat_derivative(case, network, theta, lstm, x)
            v = P @ h - (pending @ h) @ pending + q_sum * h
            s = h @ v + r
            theta = theta + ((d - d_hat) / s) * v
            pending = lax.dynamic_update_slice(pending, (v * lax.rsqrt(s))[None], (k, 0))
            return (pending, k + 1, (theta, q_sum + q, lstm)), d_hat

        nothing = jnp.zeros((DELAY, case.n_theta))
        (pending, _, small), d_hat = lax.scan(step, (nothing, 0, small), rows)
        for w in pending:  # XLA makes one pass over P of this
            P = P - w[:, None] * w[None, :]
        return (P, small), d_hat

    def start() -> State:
        P = case.settings["initial_covariance"] * jnp.eye(case.n_theta)
        return P, (jnp.asarray(case.theta), jnp.zeros(()), network.start())

    noise = case.schedule("process_noise"), case.schedule("measurement_noise")
    return Scan(case, start, block, *noise, block=DELAY)


class Experts:
    """What both forms of Algorithm 2 share."""

    def __init__(self, case: Case, network: Network) -> None:
        s = case.settings
        self.case, self.network = case, network
        self.thresholds = 4 * np.array(s["error_bounds"]) ** 2
        self.process_noise = case.schedule("process_noise")

    def innovation(self, h: Array, v: Array) -> Array:
        """S of nodes in the leading axes, from v = Ph."""
        s = self.case.settings
        return s["noise_floor"] + (1 + s["noise_factor"]) * jnp.sum(h * v, axis=-1, keepdims=True)

    def mixed(self, log_w: Array, d_hats: Array, d: Array) -> tuple[Array, Array]:
        """The mixture's prediction, and the weights after d."""
        rate = self.case.settings["mixing_rate"]
        return jax.nn.softmax(log_w) @ d_hats, log_w - rate * (d - d_hats) ** 2

    def log_prior(self) -> Array:
        return jnp.log(jnp.array(self.case.settings["prior_weights"]))

    def weights(self) -> tuple[Array, Array]:
        return jnp.asarray(self.case.W), jnp.asarray(self.case.Wd)

    def covariances(self) -> tuple[Array, Array]:
        nodes, node = self.case.W.shape
        p1 = self.case.settings["initial_covariance"]
        return (
            jnp.broadcast_to(p1 * jnp.eye(node), (nodes, node, node)),
            p1 * jnp.eye(self.case.n_s + 1),
        )

    def each(self, tree: State) -> State:
        """The same start for all."""
        n = len(self.thresholds)
        return jax.tree.map(lambda a: jnp.broadcast_to(a, (n, *a.shape)), tree)


def algorithm2(case: Case, network: Network) -> Scan:
    parts = Experts(case, network)

    def node(w: Array, P: Array, h: Array, e: Array, is_open: Array, q: Array) -> State:
        v = P @ h
        g = jnp.where(is_open, v / parts.innovation(h, v), 0.0)
        return w + g * e, P - jnp.outer(g, v) + q * jnp.eye(len(h))

    def expert(state: State, threshold: Array, row: State) -> tuple[State, Array]:
        W, P, Wd, P_d, lstm = state
        x, d, q = row
        d_hat, lstm, H_W, H_d = network.derivative(W, Wd, lstm, x)
        e = d - d_hat
        is_open = e * e > threshold
        W, P = jax.vmap(node, (0, 0, 0, None, None, None))(W, P, H_W, e, is_open, q)
        Wd, P_d = node(Wd, P_d, H_d, e, is_open, q)
        return (W, P, Wd, P_d, lstm), d_hat

    def step(state: State, row: State) -> tuple[State, Array]:
        experts, log_w = state
        run_all = jax.vmap(expert, (0, 0, None))
        experts, d_hats = run_all(experts, jnp.asarray(parts.thresholds), row)
        d_hat, log_w = parts.mixed(log_w, d_hats, row[1])
        return (experts, log_w), d_hat

    def start() -> State:
        (W, Wd), (P, P_d) = parts.weights(), parts.covariances()
        return parts.each((W, P, Wd, P_d, network.start())), parts.log_prior()

    return Scan(case, start, step, parts.process_noise)


def algorithm2_tuned(case: Case, network: Network) -> Scan:
    """Networks in one batch, but a lax.cond and arrays of its own for every expert's covariances.

    A closed gate then costs no pass over P, and an open one finds P still in the cache for its
    second pass. P = P₀ + qI with a scalar q: the diagonal costs nothing.
    """
    parts = Experts(case, network)

    def updated(w: Array, P: Array, h: Array, e: Array, q_sum: Array) -> tuple[Array, Array]:
        v = jnp.einsum("...ij,...j->...i", P, h) + q_sum * h
        s = parts.innovation(h, v)
        root = v * lax.rsqrt(s)
        return w + (e / s) * v, P - root[..., :, None] * root[..., None, :]

    def step(state: State, row: State) -> tuple[State, Array]:
        experts, lstm, log_w, q_sum = state
        x, d, q = row
        W, Wd = (jnp.stack([weights[k] for weights, _ in experts]) for k in range(2))
        derivatives = jax.vmap(network.derivative, (0, 0, 0, None))
        d_hats, lstm, H_W, H_d = derivatives(W, Wd, lstm, x)
        e = d - d_hats

        def learnt(j: int) -> Callable[[State], State]:
            def learn(expert: State) -> State:
                (w, w_d), (P, P_d) = expert
                w, P = updated(w, P, H_W[j], e[j], q_sum)
                w_d, P_d = updated(w_d, P_d, H_d[j], e[j], q_sum)
                return (w, w_d), (P, P_d)

            return learn

        experts = tuple(
            lax.cond(e[j] * e[j] > threshold, learnt(j), lambda expert: expert, experts[j])
            for j, threshold in enumerate(parts.thresholds)
        )
        d_hat, log_w = parts.mixed(log_w, d_hats, d)
        return (experts, lstm, log_w, q_sum + q), d_hat

    def start() -> State:
        experts = tuple((parts.weights(), parts.covariances()) for _ in parts.thresholds)
        return experts, parts.each(network.start()), parts.log_prior(), jnp.zeros(())

    return Scan(case, start, step, parts.process_noise)


NATURAL = {"adam": adam, "ekf": ekf, "alg2-all": algorithm2, "alg2-gated": algorithm2}
TUNED = {
    "adam": adam,
    "ekf": ekf_tuned,
    "alg2-all": algorithm2_tuned,
    "alg2-gated": algorithm2_tuned,
}


def main(folder: str, form: str) -> None:
    rules, network = {"natural": (NATURAL, Network), "tuned": (TUNED, TunedNetwork)}[form]
    serve(lambda case: rules[case.rule](case, network(case)), pathlib.Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])

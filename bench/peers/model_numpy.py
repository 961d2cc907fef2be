"""NumPy (and, where it has the better routine, SciPy's BLAS): Adam and the full EKF.

model_numpy.py FOLDER      answers requests about the cases in FOLDER (see protocol.py)
"""

import pathlib
import sys

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

from protocol import Case, serve


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


class Network:
    """Forward and backward over the window, written out: there is no autograd to pay for.

    A window that is not full yet begins with rows of zeros. They leave the state zero and add
    nothing to the derivative, so this is exact.
    """

    def __init__(self, case: Case) -> None:
        self.n_s, self.n_x, self.window = case.n_s, case.n_x, case.window
        self.start = case.theta
        self.theta = self.start.copy()
        self.W = self.theta[: -self.n_s - 1].reshape(4 * self.n_s, -1)  # views: θ is updated
        self.Wd = self.theta[-self.n_s - 1 :]
        self.H = np.empty_like(self.theta)
        self.H_W = self.H[: -self.n_s - 1].reshape(self.W.shape)
        self.H_Wd = self.H[-self.n_s - 1 :]
        tau, n_s = self.window, self.n_s
        self.inputs = np.zeros((tau, self.n_x + n_s))  # [x ; y₋]
        self.gates = np.zeros((tau, 4 * n_s))
        self.c = np.zeros((tau + 1, n_s))  # row k: the state before step k
        self.y = np.zeros((tau + 1, n_s))
        self.tanh_c = np.zeros((tau, n_s))
        self.da = np.zeros((tau, 4 * n_s))

    def restart(self) -> None:
        self.theta[:] = self.start
        self.inputs[:] = 0
        self.c[0] = 0
        self.y[0] = 0

    def forward(self, x: np.ndarray) -> float:
        n_s, n_x = self.n_s, self.n_x
        self.inputs[:-1, :n_x] = self.inputs[1:, :n_x]
        self.inputs[-1, :n_x] = x
        a = self.inputs[:, :n_x] @ self.W[:, :n_x].T
        W_y = self.W[:, n_x:]
        for k in range(self.window):
            g = a[k] + W_y @ self.y[k]
            z = np.tanh(g[:n_s])
            s = sigmoid(g[n_s:])
            self.gates[k, :n_s] = z
            self.gates[k, n_s:] = s
            c = s[:n_s] * z + s[n_s : 2 * n_s] * self.c[k]
            self.c[k + 1] = c
            self.tanh_c[k] = np.tanh(c)
            self.y[k + 1] = s[2 * n_s :] * self.tanh_c[k]
        self.inputs[:, n_x:] = self.y[:-1]
        self.d_hat = float(np.tanh(self.Wd[:n_s] @ self.y[-1] + self.Wd[n_s]))
        return self.d_hat

    def backward(self) -> np.ndarray:
        """∂d̂/∂θ. What does not depend on later steps is computed for the whole window at once."""
        n_s = self.n_s
        slope = 1 - self.d_hat**2
        self.H_Wd[:n_s] = slope * self.y[-1]
        self.H_Wd[n_s] = slope
        z, i, f, o = (self.gates[:, k * n_s : (k + 1) * n_s] for k in range(4))
        by_c = np.hstack([i * (1 - z * z), z * i * (1 - i), self.c[:-1] * f * (1 - f)])
        by_c = by_c.reshape(self.window, 3, n_s)
        o_by_y = self.tanh_c * o * (1 - o)
        c_by_y = o * (1 - self.tanh_c**2)
        W_y = self.W[:, self.n_x :].T.copy()
        dy = slope * self.Wd[:n_s]
        dc = np.zeros(n_s)
        for k in range(self.window - 1, -1, -1):
            dc += dy * c_by_y[k]
            self.da[k, : 3 * n_s] = (by_c[k] * dc).ravel()
            self.da[k, 3 * n_s :] = dy * o_by_y[k]
            dc *= f[k]
            dy = W_y @ self.da[k]
        np.matmul(self.da.T, self.inputs, out=self.H_W)
        return self.H

    def move_on(self) -> None:
        """The state after the window's first step is carried from now on."""
        self.c[0] = self.c[1]
        self.y[0] = self.y[1]


class Adam:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = Network(case)
        self.m = np.zeros(case.n_theta)
        self.v = np.zeros(case.n_theta)

    def restart(self) -> None:
        self.network.restart()
        self.m[:] = 0
        self.v[:] = 0

    def run(self, rows: int) -> np.ndarray:
        s = self.case.settings
        mu, b1, b2, epsilon = (
            s[k] for k in ("learning_rate", "first_decay", "second_decay", "epsilon")
        )
        net, m, v = self.network, self.m, self.v
        d_hat = np.empty(rows)
        for t in range(rows):
            d_hat[t] = net.forward(self.case.x[t])
            g = net.backward()
            net.move_on()
            g *= d_hat[t] - self.case.d[t]
            m *= b1
            m += (1 - b1) * g
            v *= b2
            v += (1 - b2) * (g * g)
            scale = mu / (1 - b1 ** (t + 1))
            net.theta -= scale * m / (np.sqrt(v / (1 - b2 ** (t + 1))) + epsilon)
        return d_hat


class Ekf:
    """dsymv and dsyr on the lower half: NumPy alone would write P twice for its temporaries."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = Network(case)
        self.P = np.empty((case.n_theta, case.n_theta), order="F")
        self.diagonal = self.P.ravel(order="K")[:: case.n_theta + 1]
        self.q = case.schedule("process_noise")
        self.r = case.schedule("measurement_noise")

    def restart(self) -> None:
        self.network.restart()
        self.P[:] = 0
        self.diagonal[:] = self.case.settings["initial_covariance"]

    def run(self, rows: int) -> np.ndarray:
        net = self.network
        d_hat = np.empty(rows)
        for t in range(rows):
            d_hat[t] = net.forward(self.case.x[t])
            h = net.backward()
            net.move_on()
            v = dsymv(1.0, self.P, h, lower=1)
            s = h @ v + self.r[t]
            net.theta += ((self.case.d[t] - d_hat[t]) / s) * v
            dsyr(-1 / s, v, a=self.P, lower=1, overwrite_a=1)
            self.diagonal += self.q[t]
        return d_hat


if __name__ == "__main__":
    serve(lambda case: {"adam": Adam, "ekf": Ekf}[case.rule](case), pathlib.Path(sys.argv[1]))

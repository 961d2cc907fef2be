"""PyTorch: Adam, the full EKF and Algorithm 2.

    model_torch.py FOLDER natural|tuned    answers requests about the cases in FOLDER (protocol.py)

natural: nn.LSTM, autograd and torch.optim.Adam, as most people would write it.
tuned:   the backward pass written out, all experts in one batch, in inference mode and in place.
"""

import pathlib
import sys

import numpy as np
import torch

from protocol import Case, Task, serve

torch.set_num_threads(1)
torch.set_flush_denormal(True)
torch.set_default_dtype(torch.float64)

Tensor = torch.Tensor
DELAY = 8  # rows between passes that change the P of the EKF


class NaturalNetwork(torch.nn.Module):
    """One LSTM layer over the window; nn.LSTM orders its gates i, f, z, o."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        n_s, n_x = case.n_s, case.n_x
        self.case = case
        self.lstm = torch.nn.LSTM(n_x, n_s, bias=False)
        self.output = torch.nn.Linear(n_s, 1)
        self.xs = torch.tensor(np.vstack([np.zeros((case.window - 1, n_x)), case.x]))
        self.restart()

    @torch.no_grad()
    def restart(self) -> None:
        z, i, f, o = torch.tensor(self.case.W).chunk(4)
        W = torch.cat([i, f, z, o])
        self.lstm.weight_ih_l0.copy_(W[:, : self.case.n_x])
        self.lstm.weight_hh_l0.copy_(W[:, self.case.n_x :])
        self.output.weight.copy_(torch.tensor(self.case.Wd[None, :-1]))
        self.output.bias.copy_(torch.tensor(self.case.Wd[-1:]))
        zero = torch.zeros(1, self.case.n_s)
        self.state = (zero, zero)

    def forward(self, t: int) -> Tensor:
        """d̂ of row t. The window's first step is a call of its own: its state is carried on."""
        X = self.xs[t : t + self.case.window]
        _, first = self.lstm(X[:1], self.state)
        _, last = self.lstm(X[1:], first)
        self.state = tuple(s.detach() for s in first)
        return torch.tanh(self.output(last[0][0]))[0]


class NaturalAdam:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = NaturalNetwork(case)

    def restart(self) -> None:
        s = self.case.settings
        self.network.restart()
        self.optimiser = torch.optim.Adam(
            self.network.parameters(),
            lr=s["learning_rate"],
            betas=(s["first_decay"], s["second_decay"]),
            eps=s["epsilon"],
        )

    def run(self, rows: int) -> np.ndarray:
        predictions = np.empty(rows)
        for t in range(rows):
            d_hat = self.network(t)
            predictions[t] = d_hat.item()
            loss = 0.5 * (self.case.d[t] - d_hat) ** 2
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        return predictions


class TunedNetwork:
    """`experts` networks at once, or one without the extra axis. θ and H are flat, with views.

    A window that is not full yet begins with rows of zeros. They leave the state zero and add
    nothing to the derivative, so this is exact.
    """

    def __init__(self, case: Case, experts: int | None) -> None:
        self.case = case
        n_s, n_x, tau = case.n_s, case.n_x, case.window
        self.lead = () if experts is None else (experts,)
        self.affine, self.product = (
            (torch.addmm, torch.mm) if experts is None else (torch.baddbmm, torch.bmm)
        )
        self.xs = torch.tensor(np.vstack([np.zeros((tau - 1, n_x)), case.x]))
        self.theta = torch.empty(*self.lead, case.n_theta)
        self.H = torch.empty(*self.lead, case.n_theta)
        self.W, self.Wd = self.split(self.theta)
        self.H_W, self.H_d = self.split(self.H)
        self.W_x, self.W_y = self.W[..., :n_x], self.W[..., n_x:]
        da = torch.empty(*self.lead, tau, 4, n_s)
        self.da = da.view(*self.lead, tau, 4 * n_s)
        self.da_c = [da[..., k, :3, :] for k in range(tau)]
        self.da_o = [da[..., k, 3:, :] for k in range(tau)]
        self.da_row = self.da.split(1, dim=-2)
        self.inputs = torch.empty(*self.lead, tau, n_x + n_s)

    def split(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        n_s = self.case.n_s
        W = flat[..., : -n_s - 1].view(*self.lead, 4 * n_s, -1)
        return W, flat[..., -n_s - 1 :].view(*self.lead, 1, n_s + 1)

    def restart(self) -> None:
        self.theta.copy_(torch.tensor(self.case.theta))
        self.c = torch.zeros(*self.lead, 1, self.case.n_s)
        self.y = torch.zeros(*self.lead, 1, self.case.n_s)

    def forward(self, t: int) -> Tensor:
        """d̂ of row t, of each network."""
        n_s, n_x = self.case.n_s, self.case.n_x
        X = self.xs[t : t + self.case.window]
        W_yT = self.W_y.mT
        c, y = self.c, self.y
        self.cs, self.ys, self.tanh_cs, self.zs, self.ss = [c], [y], [], [], []
        for from_x in torch.matmul(X, self.W_x.mT).split(1, dim=-2):
            a = self.affine(from_x, y, W_yT)
            z = a[..., :n_s].tanh()
            s = a[..., n_s:].sigmoid_()
            i, f, o = s.chunk(3, dim=-1)
            c = torch.addcmul(f * c, i, z)
            tanh_c = c.tanh()
            y = o * tanh_c
            self.zs.append(z)
            self.ss.append(s)
            self.tanh_cs.append(tanh_c)
            self.cs.append(c)
            self.ys.append(y)
        self.inputs[..., :n_x] = X
        self.c, self.y = self.cs[1], self.ys[1]  # carried on
        self.d_hat = torch.tanh((self.Wd[..., :n_s] * y).sum(-1) + self.Wd[..., n_s])
        return self.d_hat

    def backward(self) -> Tensor:
        """∂d̂/∂θ. What does not depend on later steps is computed for the whole window at once."""
        n_s, tau = self.case.n_s, self.case.window
        slope = (1 - self.d_hat**2).unsqueeze(-1)
        torch.mul(self.ys[-1], slope, out=self.H_d[..., :n_s])
        self.H_d[..., n_s:] = slope
        z = torch.cat(self.zs, dim=-2)
        s = torch.cat(self.ss, dim=-2)
        tanh_c = torch.cat(self.tanh_cs, dim=-2)
        i, f, o = s.chunk(3, dim=-1)
        ds = s * (1 - s)
        di, df, do = ds.chunk(3, dim=-1)
        by_c = torch.stack([i * (1 - z * z), z * di, torch.cat(self.cs[:-1], dim=-2) * df], dim=-2)
        by_c = by_c.unbind(-3)
        o_by_y = (tanh_c * do).split(1, dim=-2)
        c_by_y = (o * (1 - tanh_c * tanh_c)).split(1, dim=-2)
        f = f.split(1, dim=-2)
        dy = slope * self.Wd[..., :n_s]
        dc = dy * c_by_y[-1]
        for k in range(tau - 1, -1, -1):
            torch.mul(by_c[k], dc, out=self.da_c[k])
            torch.mul(dy, o_by_y[k], out=self.da_o[k])
            if k > 0:
                dy = self.product(self.da_row[k], self.W_y)
                dc = torch.addcmul(dc * f[k], dy, c_by_y[k - 1])
        torch.cat(self.ys[:-1], dim=-2, out=self.inputs[..., self.case.n_x :])
        torch.matmul(self.da.mT, self.inputs, out=self.H_W)
        return self.H


class TunedAdam:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = TunedNetwork(case, None)
        self.m = torch.zeros(case.n_theta)
        self.v = torch.zeros(case.n_theta)

    def restart(self) -> None:
        self.network.restart()
        self.m.zero_()
        self.v.zero_()

    @torch.inference_mode()
    def run(self, rows: int) -> np.ndarray:
        s = self.case.settings
        mu, b1, b2, epsilon = (
            s[k] for k in ("learning_rate", "first_decay", "second_decay", "epsilon")
        )
        predictions = np.empty(rows)
        for t in range(rows):
            predictions[t] = d_hat = self.network.forward(t).item()
            g = self.network.backward().mul_(d_hat - self.case.d[t])
            self.m.lerp_(g, 1 - b1)
            self.v.mul_(b2).addcmul_(g, g, value=1 - b2)
            root = self.v.sqrt().add_(epsilon * (1 - b2 ** (t + 1)) ** 0.5)
            scale = mu * (1 - b2 ** (t + 1)) ** 0.5 / (1 - b1 ** (t + 1))
            self.network.theta.addcdiv_(self.m, root, value=-scale)
        return predictions


class TunedEkf:
    """P = P₀ + qI − Σwwᵀ with a scalar q and the last few w kept apart: P is written less often."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = TunedNetwork(case, None)
        self.P = torch.empty(case.n_theta, case.n_theta)
        self.pending = torch.empty(DELAY, case.n_theta)
        self.q = case.schedule("process_noise")
        self.r = case.schedule("measurement_noise")

    def restart(self) -> None:
        self.network.restart()
        self.P.zero_().fill_diagonal_(self.case.settings["initial_covariance"])

    @torch.inference_mode()
    def run(self, rows: int) -> np.ndarray:
        predictions = np.empty(rows)
        q_sum = 0.0
        for t in range(rows):
            predictions[t] = d_hat = self.network.forward(t).item()
            h = self.network.backward()
            k = t % DELAY
            v = torch.addmv(h, self.P, h, beta=q_sum)
            if k > 0:
                w = self.pending[:k]
                v.addmv_(w.T, torch.mv(w, h), alpha=-1)
            s = torch.dot(h, v).item() + self.r[t]
            self.network.theta.add_(v, alpha=(self.case.d[t] - d_hat) / s)
            torch.mul(v, s**-0.5, out=self.pending[k])
            if k == DELAY - 1:
                self.P.addmm_(self.pending.T, self.pending, alpha=-1)
            q_sum += self.q[t]
        return predictions


class TunedAlgorithm2:
    """All experts in one batch; covariances only of those whose gate is open."""

    def __init__(self, case: Case) -> None:
        self.case = case
        s = case.settings
        self.n = len(s["error_bounds"])
        self.network = TunedNetwork(case, self.n)
        self.thresholds = 4 * np.array(s["error_bounds"]) ** 2
        self.log_prior = np.log(s["prior_weights"])
        self.q = case.schedule("process_noise")
        node = case.n_x + case.n_s
        self.P = torch.empty(self.n, 4 * case.n_s, node, node)
        self.P_d = torch.empty(self.n, 1, case.n_s + 1, case.n_s + 1)

    def restart(self) -> None:
        self.network.restart()
        for P in (self.P, self.P_d):
            P.copy_(self.case.settings["initial_covariance"] * torch.eye(P.shape[-1]))

    def update(self, P: Tensor, W: Tensor, h: Tensor, e: Tensor, q_sum: float) -> None:
        """Nodes in the leading axes."""
        s = self.case.settings
        v = torch.linalg.vecdot(P, h.unsqueeze(-2)).add_(h, alpha=q_sum)
        S = (h * v).sum(-1, keepdim=True).mul_(1 + s["noise_factor"]).add_(s["noise_floor"])
        g = v / S
        W.addcmul_(g, e)
        P.addcmul_(g.unsqueeze(-1), v.unsqueeze(-2), value=-1)

    @torch.inference_mode()
    def run(self, rows: int) -> np.ndarray:
        net = self.network
        predictions = np.empty(rows)
        log_w = self.log_prior.copy()
        q_sum = 0.0
        for t in range(rows):
            d_hats = net.forward(t)[:, 0].numpy()
            w = np.exp(log_w - log_w.max())
            predictions[t] = w @ d_hats / w.sum()
            e = self.case.d[t] - d_hats
            losses = e * e
            log_w -= self.case.settings["mixing_rate"] * losses
            open_gates = losses > self.thresholds
            if open_gates.any():
                net.backward()
                if open_gates.all():
                    es = torch.from_numpy(e)[:, None, None]
                    self.update(self.P, net.W, net.H_W, es, q_sum)
                    self.update(self.P_d, net.Wd, net.H_d, es, q_sum)
                else:
                    for j in np.flatnonzero(open_gates):
                        ej = torch.tensor(e[j])
                        self.update(self.P[j], net.W[j], net.H_W[j], ej, q_sum)
                        self.update(self.P_d[j], net.Wd[j], net.H_d[j], ej, q_sum)
            q_sum += self.q[t]
        return predictions


NATURAL = {"adam": NaturalAdam}
TUNED = {
    "adam": TunedAdam,
    "ekf": TunedEkf,
    "alg2-all": TunedAlgorithm2,
    "alg2-gated": TunedAlgorithm2,
}


def main(folder: str, form: str) -> None:
    tasks = {"natural": NATURAL, "tuned": TUNED}[form]

    def make(case: Case) -> Task:
        return tasks[case.rule](case)

    serve(make, pathlib.Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])

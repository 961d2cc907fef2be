// What all views share: they follow the server, draw now and then, and end all that they began.
import { follow } from "./api.js";
import { redrawer } from "./dom.js";

export class View {
  constructor(page, title) {
    Object.assign(this, { page, title });
    this.endings = [];
  }

  // Calls load() at the beginning of each connection, and event(name, data) for all that comes.
  follow(parameters) {
    const { page } = this;
    this.endings.push(follow(parameters, {
      open: () => { page.connected(); this.load(); },
      event: (name, data) => this.event(name, data),
      lost: () => page.lost(),
      refused: (error) => page.failed(error),
    }));
  }

  redrawer(draw, pause) {
    const request = redrawer(draw, pause);
    this.endings.push(request.stop);
    return request;
  }

  every(ms, action) {
    const timer = setInterval(action, ms);
    this.endings.push(() => clearInterval(timer));
  }

  load() {}
  event() {}
  themeChanged() {}
  pausedChanged() {}
  close() { for (const end of this.endings) end(); }
}

// Search without a server: browsers start no worker from a file, so a hidden frame takes its place.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow;
    inside.postMessage = (data) => {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    };
    const load = (address) =>
      new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = new URL(address, location.href);
        script.onload = script.onerror = done;
        inside.document.body.append(script);
      });
    inside.importScripts = (...addresses) =>
      addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    this.inside = inside;
    this.ready = load(url);
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.inside.frameElement.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = FrameWorker; // the name by which the theme's worker finds out
  window.Worker = FrameWorker;
}

// Every front end makes the models of a page, shown or not: the one that keeps viz.js says here where it is. JupyterLab would
// find it by its id as well; others have no way from one model to another.
export default {
  initialize({ model }) {
    const name = Symbol.for("autolab.engine");
    globalThis[name] = model;
    return () => {
      if (globalThis[name] === model) delete globalThis[name];
    };
  },
  render() {},
};

// Berth's tool of OpenCode that shows people a file. It asks the server, which shows the file or does not.
export default {
  description:
    "Shows a file to the people in this conversation: a picture, a document, a result they asked for. Call it once the file is complete.",
  args: {
    path: { type: "string", description: "The file, absolute or relative to the working directory" },
    title: { type: "string", description: "What it is, in a few words" },
  },
  async execute(args: any, context: any) {
    try {
      await context.ask({ permission: "showFile", patterns: [args.path], always: [], metadata: args });
    } catch {
      throw new Error(`${args.path} could not be shown: it has to be a regular file inside the working directory`);
    }
    return `The people in this conversation see ${args.path} now.`;
  },
};

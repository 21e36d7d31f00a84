// Berth's extension of pi: a tool that shows people a file, and a question before each tool that changes something.
// Questions go to the server, which answers by the session's permission mode or asks a person. While the server is away
// they wait.
import { Type } from "typebox";

const QUESTION = "berth";
const ASKED = new Set(["bash", "write", "edit"]);

export default function (pi: any) {
  pi.registerTool({
    name: "showFile",
    label: "Show file",
    description:
      "Shows a file to the people in this conversation: a picture, a document, a result they asked for. Call it once the file is complete.",
    parameters: Type.Object({
      path: Type.String({ description: "The file, absolute or relative to the working directory" }),
      title: Type.Optional(Type.String({ description: "What it is, in a few words" })),
    }),
    async execute(_id: string, params: any, _signal: any, _update: any, ctx: any) {
      const shown = await ctx.ui.confirm(QUESTION, JSON.stringify({ tool: "showFile", arguments: params }), {
        signal: ctx.signal,
      });
      if (!shown) {
        throw new Error(`${params.path} could not be shown: it has to be a regular file inside the working directory`);
      }
      return {
        content: [{ type: "text", text: `The people in this conversation see ${params.path} now.` }],
        details: { path: params.path, title: params.title ?? null },
      };
    },
  });

  pi.on("tool_call", async (event: any, ctx: any) => {
    if (!ASKED.has(event.toolName)) return;
    const allowed = await ctx.ui.confirm(QUESTION, JSON.stringify({ tool: event.toolName, arguments: event.input }), {
      signal: ctx.signal,
    });
    if (!allowed) return { block: true, reason: "This was not allowed. Do not try it again in another way; say what you would need." };
  });
}

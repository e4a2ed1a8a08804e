// The official TypeScript SDK: 1.x shakes hands; the option `generation = 2` is the client of 2.x, which finds the modern era.
import { ANSWERS, CAPABILITIES, drive } from './driving.mjs';

const INFO = { name: 'zoo-typescript', version: '1' };

async function first(job) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const t = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client(INFO, { capabilities: job.silent ? {} : CAPABILITIES });
  const asked = {
    'elicitation/create': t.ElicitRequestSchema,
    'sampling/createMessage': t.CreateMessageRequestSchema,
    'roots/list': t.ListRootsRequestSchema,
  };
  for (const [method, schema] of Object.entries(job.silent ? {} : asked)) {
    if (schema) client.setRequestHandler(schema, () => ANSWERS[method]);
  }
  const http = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const stdio = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const call = (params, options) => client.callTool(params, undefined, options);
  return [client, http.StreamableHTTPClientTransport, stdio.StdioClientTransport, call];
}

async function second(job) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client(INFO, {
    capabilities: job.silent ? {} : CAPABILITIES,
    versionNegotiation: { mode: 'auto' },
  });
  for (const method of Object.keys(job.silent ? {} : ANSWERS)) client.setRequestHandler(method, () => ANSWERS[method]);
  const call = (params, options) => client.callTool(params, options);
  return [client, StreamableHTTPClientTransport, StdioClientTransport, call];
}

await drive(async (job) => {
  const [client, Http, Stdio, callTool] = await (job.options.generation === 2 ? second : first)(job);
  const [command, ...args] = job.target.command ?? [];
  const transport = job.target.url ? new Http(new URL(job.target.url)) : new Stdio({ command, args, env: job.target.env });
  await client.connect(transport);
  return {
    questions: ['elicitation', 'sampling', 'roots'],
    tools: async () => (await client.listTools()).tools,
    call: (name, given) => callTool({ name, arguments: given }),
    progress: async (name, given) => {
      const steps = [];
      return [steps, await callTool({ name, arguments: given }, { onprogress: (step) => steps.push(step) })];
    },
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, given) => client.getPrompt({ name, arguments: given }),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    close: async () => {
      await transport.terminateSession?.();
      await client.close();
    },
  };
});
